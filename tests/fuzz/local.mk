# SPDX-License-Identifier: GPL-2.0-or-later
# Fuzz targets.  They need a build by clang with --enable-sanitize=...,fuzzer-no-link, so that
# all of the tree tells libFuzzer where it has been; ./check makes one, and `make fuzz` elsewhere.

# tests/X/fuzz_NAME.c; its inputs are in tests/X/corpus/NAME, its words in corpus/NAME.dict.
fuzz_names = $(patsubst $(srcdir)/%.c,%,$(sort \
	$(wildcard $(srcdir)/tests/*/fuzz_*.c $(srcdir)/tests/*/*/fuzz_*.c)))
# And those that need no build: fuzz_NAME.py SECONDS.
fuzz_scripts = $(patsubst $(srcdir)/%,%,$(sort $(wildcard $(srcdir)/tests/*/fuzz_*.py)))

EXTRA_DIST += %D%/fuzz.c %D%/fuzz.h %D%/fuzz.py %D%/planted.c %D%/test_fuzz.py \
	tests/libgomp-coop/fuzz/libgomp.h $(addsuffix .c,$(fuzz_names)) \
	$(wildcard $(srcdir)/tests/*/corpus $(srcdir)/tests/*/*/corpus)

if FUZZ
fuzz_libraries = node_agent/daemon/libagent.la simulator/libvnode.la
fuzz_objects = $(addsuffix .o,$(fuzz_names)) %D%/fuzz.o %D%/planted.o
fuzz_flags =
tests/libgomp-coop/fuzz_agent.o: fuzz_flags = -I$(srcdir)/tests/libgomp-coop/fuzz \
	-I$(srcdir)/libgomp-coop/config/coop

$(fuzz_objects): %.o: %.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)$(CC) $(DEFS) $(fuzz_flags) $(AM_CPPFLAGS) $(CPPFLAGS) $(JANSSON_CFLAGS) \
	  $(HWLOC_CFLAGS) $(LIBSYSTEMD_CFLAGS) $(AM_CFLAGS) $(CFLAGS) -MMD -MF $@.d -c -o $@ $<
-include $(addsuffix .d,$(fuzz_objects))

$(fuzz_names) %D%/planted: %: %.o %D%/fuzz.o $(fuzz_libraries)
	$(AM_V_CCLD)$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=link $(CC) $(CFLAGS) $(AM_LDFLAGS) \
	  $(LDFLAGS) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(fuzz_libraries) \
	  $(JANSSON_LIBS) -lm

TESTS += %D%/test_fuzz.py
%D%/test_fuzz.py.log: $(fuzz_names) %D%/planted

# All targets for HOURS, one at a time for each CPU; FUZZ="--only state" for some.  What they
# find is below fuzz/, the table also in bench/fuzz.json.
fuzz: $(fuzz_names)
	@$(MKDIR_P) bench
	$(AM_TESTS_ENVIRONMENT) $(srcdir)/%D%/fuzz.py --hours $(or $(filter-out 0,$(HOURS)),1) \
	  --keep fuzz --json bench/fuzz.json $(FUZZ) $(fuzz_names) $(addprefix $(srcdir)/,$(fuzz_scripts))
else
fuzz:
	@$(MKDIR_P) asan
	test -e asan/config.status || (cd asan && $(abs_top_srcdir)/configure CC=clang \
	  --with-gcc-source=no --enable-sanitize=address,undefined,fuzzer-no-link CFLAGS='-O1 -g')
	$(MAKE) -C asan fuzz HOURS='$(HOURS)' FUZZ='$(FUZZ)'
endif
clean-local: clean-fuzz
clean-fuzz:
	rm -f $(fuzz_names) $(addsuffix .o,$(fuzz_names)) $(addsuffix .o.d,$(fuzz_names)) \
	  %D%/fuzz.o %D%/fuzz.o.d %D%/planted %D%/planted.o %D%/planted.o.d
.PHONY: fuzz clean-fuzz
