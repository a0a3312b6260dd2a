# SPDX-License-Identifier: GPL-2.0-or-later
# The contracts between the programs: bytes, messages, options.

if HAVE_CMOCKA
units += %D%/unit
%C%_unit_SOURCES = \
	%D%/test_cpulist.c \
	%D%/test_fields.c \
	%D%/test_follow.c \
	%D%/test_job_defaults.c \
	%D%/test_job_library.c \
	%D%/test_layout.c \
	%D%/test_message.c \
	%D%/test_options.c \
	%D%/test_packet.c \
	%D%/unit.h
%C%_unit_CPPFLAGS = $(unit_flags)
%C%_unit_LDADD = protocol/libprotocol.la $(unit_libs)
endif

# Not part of `make check`: needs clang, and finds what is rare only in time.
FUZZ_CC = clang
FUZZ_SECONDS = 60
fuzz: $(srcdir)/%D%/fuzz_protocol.c
	@$(MKDIR_P) %D%/corpus
	$(FUZZ_CC) $(AM_CPPFLAGS) $(JANSSON_CFLAGS) -g -O1 \
	  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	  $(srcdir)/%D%/fuzz_protocol.c $(srcdir)/protocol/*.c \
	  $(srcdir)/common/errtext.c \
	  $(srcdir)/common/fd.c \
	  $(srcdir)/model/machine.c $(srcdir)/model/loop.c $(JANSSON_LIBS) -lm \
	  -o %D%/fuzz_protocol
	%D%/fuzz_protocol -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
	  -dict=$(srcdir)/%D%/fuzz.dict -artifact_prefix=%D%/ -print_final_stats=1 \
	  %D%/corpus

# The readers of descriptions; the shipped machines are where it begins.
fuzz-describe: $(srcdir)/%D%/fuzz_describe.c
	@$(MKDIR_P) %D%/corpus-describe
	$(FUZZ_CC) $(AM_CPPFLAGS) -DCOSCHED_MACHINESDIR='""' $(JANSSON_CFLAGS) -g -O1 \
	  -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
	  $(srcdir)/%D%/fuzz_describe.c $(srcdir)/model/io/*.c $(srcdir)/common/json_*.c \
	  $(srcdir)/common/errtext.c $(srcdir)/protocol/cpulist.c \
	  $(srcdir)/model/machine.c $(srcdir)/model/loop.c $(JANSSON_LIBS) -lm \
	  -o %D%/fuzz_describe
	%D%/fuzz_describe -max_total_time=$(FUZZ_SECONDS) -max_len=8192 \
	  -dict=$(srcdir)/%D%/describe.dict -artifact_prefix=%D%/ \
	  -print_final_stats=1 %D%/corpus-describe $(srcdir)/machines

EXTRA_DIST += %D%/fuzz_protocol.c %D%/fuzz.dict \
	%D%/fuzz_describe.c %D%/describe.dict
CLEANFILES += %D%/fuzz_protocol %D%/fuzz_describe
clean-local: clean-fuzz
clean-fuzz:
	rm -rf %D%/corpus %D%/corpus-describe
.PHONY: fuzz fuzz-describe clean-fuzz
