# SPDX-License-Identifier: GPL-2.0-or-later
# The exporter: its text and manners in `make check`; a real Prometheus in a target of its own.

exporter_tests = %D%/test_exporter.py
TESTS += $(exporter_tests)
EXTRA_DIST += $(exporter_tests) %D%/check_prometheus.py

check-prometheus: all check-programs
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/check_prometheus.py

check-programs: $(check_PROGRAMS)
.PHONY: check-prometheus check-programs
