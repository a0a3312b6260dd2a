# SPDX-License-Identifier: GPL-2.0-or-later

EXTRA_DIST += docs/architecture.md docs/counters.md \
	docs/follow.md docs/images/follow.py docs/images/follow.svg \
	docs/images/pictures.py docs/images/hosts.svg docs/images/life.svg \
	docs/images/model.svg docs/images/emulator.svg docs/images/emulated.svg \
	docs/glossary.md docs/install.md \
	docs/images/demo.svg docs/policies.md docs/policies-moca.md docs/record.md \
	docs/monitoring.md docs/operate.md docs/settings.md docs/versions.md
pkgdata_DATA += docs/scenario.schema.json
EXTRA_DIST += docs/scenario.schema.json
EXTRA_DIST += docs/evaluation.md docs/evaluation-emulated.md docs/evaluation-findings.md \
	docs/evaluation-simulated.md docs/evaluation-studies.md \
	docs/evaluation.json docs/evaluation.svg \
	docs/evaluation/timeshare.json

# Pictures of what the commands do, drawn anew where that needs the build, or a Slurm cluster.
EXTRA_DIST += docs/images/decision.py docs/images/decision.svg docs/images/recording.py \
	docs/images/first-minutes.svg docs/images/first-minutes.cast
decision-picture: all
	$(srcdir)/docs/images/decision.py $(builddir) $(srcdir)/docs/images/decision.svg
recording: all
	$(srcdir)/docs/images/recording.py $(builddir) $(srcdir)/docs/images/first-minutes
.PHONY: decision-picture recording
