/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Copyright (C) 2026 The coschedule developers */
/* Machines of several NUMA nodes: links from distances, and descriptions
 * that are stored, edited and used. */

#include "tests/support/unit.h"

#include <hwloc.h>

#include "node_agent/topology/topology.h"
#include "protocol/cpulist.h"

#define KIND (HWLOC_DISTANCES_KIND_FROM_OS | HWLOC_DISTANCES_KIND_MEANS_LATENCY)

static void add_distances(hwloc_topology_t t, unsigned n, hwloc_obj_t *nodes,
                          const uint64_t *distance)
{
#if HWLOC_API_VERSION >= 0x00020500
    hwloc_distances_add_handle_t handle =
        hwloc_distances_add_create(t, NULL, KIND, 0);
    assert_non_null(handle);
    assert_int_equal(hwloc_distances_add_values(t, handle, n, nodes,
                                                (hwloc_uint64_t *)distance, 0),
                     0);
    assert_int_equal(hwloc_distances_add_commit(t, handle, 0), 0);
#else
    assert_int_equal(hwloc_distances_add(t, n, nodes,
                                         (hwloc_uint64_t *)distance, KIND, 0),
                     0);
#endif
}

/* Write the machine SYNTHETIC with DISTANCE[n * n] between its NUMA nodes as
 * XML, and without the CPUs of WITHOUT (""), into the new file PATH. */
static void write_xml(const char *synthetic, const uint64_t *distance,
                      const char *without, char path[64])
{
    hwloc_topology_t t;
    hwloc_obj_t nodes[64];
    unsigned n = 0;

    assert_int_equal(hwloc_topology_init(&t), 0);
    assert_int_equal(hwloc_topology_set_synthetic(t, synthetic), 0);
    assert_int_equal(hwloc_topology_load(t), 0);
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, node)))
        nodes[n++] = node;
    if (distance)
        add_distances(t, n, nodes, distance);
    if (*without) {
        hwloc_bitmap_t set = hwloc_bitmap_alloc(), out = hwloc_bitmap_alloc();
        hwloc_bitmap_copy(set, hwloc_topology_get_topology_cpuset(t));
        hwloc_bitmap_list_sscanf(out, without);
        hwloc_bitmap_andnot(set, set, out);
        assert_int_equal(hwloc_topology_restrict(t, set, 0), 0);
        hwloc_bitmap_free(set);
        hwloc_bitmap_free(out);
    }
    strcpy(path, "/tmp/coschedtest.XXXXXX");
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(hwloc_topology_export_xml(t, path, 0), 0);
    hwloc_topology_destroy(t);
}

static struct topology *machine_of(const char *synthetic,
                                   const uint64_t *distance,
                                   const char *without,
                                   const struct cosched_cpuset *only)
{
    struct errtext err = {""};
    char path[64];

    write_xml(synthetic, distance, without, path);
    setenv("HWLOC_XMLFILE", path, 1);
    struct topology *t = topology_new(only, &err);
    unsetenv("HWLOC_XMLFILE");
    unlink(path);
    if (!t)
        fail_msg("%s: %s", synthetic, err.text);
    return t;
}

/* Distances of N nodes: 10 to itself, NEAR where PAIRS has the bit, else FAR. */
static const uint64_t *distances(size_t n, const uint8_t *near_to, uint64_t near,
                                 uint64_t far)
{
    static uint64_t d[64];

    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            d[i * n + j] = i == j ? 10 : near_to[i] >> j & 1 ? near : far;
    return d;
}

static size_t hops(const struct topology *t, size_t node, size_t memory)
{
    const struct machine *m = topology_machine(t);

    return m->route[node * m->numa_nodes + memory].links;
}

/* Each route starts at home, follows links, and ends at the memory. */
static void check_routes(const struct topology *t)
{
    struct machine_description *d = topology_description(t);
    const struct machine *m = d->machine;

    for (size_t i = 0; i < m->llc_domains; i++)
        for (size_t j = 0; j < m->numa_nodes; j++) {
            const struct machine_route *r = &m->route[i * m->numa_nodes + j];
            size_t at = (size_t)m->local_node[i];
            for (size_t l = 0; l < r->links; l++) {
                const struct machine_link *link = &d->link[r->link[l]];
                assert_true(link->from == at || link->to == at);
                at = link->from == at ? link->to : link->from;
            }
            assert_int_equal(at, j);
        }
    machine_description_free(d);
}

static void test_meshes(void **state)
{
    /* Opteron 6300: even and odd dies fully connected, and each with its
     * sibling (as machines/amd-opteron-6380-8x8.json). */
    static const uint8_t opteron[] = {0x56, 0xa9, 0x59, 0xa6,
                                      0x65, 0x9a, 0x95, 0x6a};
    static const uint8_t ring[] = {0xa, 0x5, 0xa, 0x5};
    static const uint8_t pairs[] = {0x2, 0x1, 0x8, 0x4};
    static const uint8_t none[] = {0, 0, 0, 0};
    static const struct {
        const char *text;
        size_t nodes;
        const uint8_t *near_to;
        uint64_t near, far;
        size_t links, most; /* links on the longest way */
    } good[] = {
        {"pack:4 [numa] l3:1 core:2 pu:1", 4, ring, 21, 31, 4, 2},
        {"pack:2 numa:2 l3:1 core:2 pu:1", 4, pairs, 11, 21, 6, 1}, /* SNC */
        {"pack:2 numa:2 l3:4 core:2 pu:2", 4, pairs, 12, 32, 6, 1}, /* EPYC */
        {"pack:4 [numa] l3:1 core:2 pu:1", 4, none, 0, 21, 6, 1},
        {"pack:4 [numa] l3:1 core:2 pu:1", 4, none, 0, 10, 6, 1}, /* untold */
        {"pack:4 numa:2 l3:1 core:2 pu:1", 8, opteron, 16, 22, 16, 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        struct topology *t = machine_of(
            good[i].text,
            distances(good[i].nodes, good[i].near_to, good[i].near,
                      good[i].far),
            "", NULL);
        const struct machine *m = topology_machine(t);
        size_t most = 0;
        print_message("%s, %d %d\n", good[i].text, (int)good[i].near,
                      (int)good[i].far);
        assert_int_equal(m->numa_nodes, good[i].nodes);
        assert_int_equal(m->links, good[i].links);
        for (size_t r = 0; r < m->llc_domains * m->numa_nodes; r++)
            if (m->route[r].links > most)
                most = m->route[r].links;
        assert_int_equal(most, good[i].most);
        check_routes(t);
        topology_free(t);
    }
}

static void test_no_distances(void **state)
{
    struct topology *t =
        machine_of("pack:3 [numa] l3:1 core:1 pu:1", NULL, "", NULL);

    (void)state;
    assert_int_equal(topology_machine(t)->links, 3);
    check_routes(t);
    topology_free(t);
}

/* Node 2 has no CPUs any more and hangs on node 0. */
static void test_memory_only(void **state)
{
    static const uint64_t d[] = {10, 21, 14, 21, 10, 24, 14, 24, 10};
    struct cosched_cpuset only = {{0xf}};
    struct topology *t =
        machine_of("pack:3 [numa] l3:1 core:2 pu:1", d, "", &only);
    const struct machine *m = topology_machine(t);

    (void)state;
    assert_int_equal(m->llc_domains, 2);
    assert_int_equal(m->numa_nodes, 3);
    assert_int_equal(m->links, 2); /* 0-1 and 0-2 */
    assert_int_equal(hops(t, 0, 2), 1);
    assert_int_equal(hops(t, 1, 2), 2); /* 11 + 4 for 14 */
    assert_int_equal(hops(t, 0, 1), 1);
    check_routes(t);
    topology_free(t);
}

static void test_asymmetric(void **state)
{
    static const uint64_t d[] = {10, 20, 30, 22, 10, 20, 32, 22, 10};
    struct topology *t =
        machine_of("pack:3 [numa] l3:1 core:1 pu:1", d, "", NULL);

    (void)state;
    assert_int_equal(topology_machine(t)->links, 2);
    assert_int_equal(hops(t, 0, 2), 2);
    assert_int_equal(hops(t, 2, 0), 2);
    check_routes(t);
    topology_free(t);
}

static void test_holes(void **state)
{
    struct topology *t =
        machine_of("pack:2 [numa] l3:1 core:4 pu:2", NULL, "2-3,9", NULL);
    const struct machine *m = topology_machine(t);

    (void)state;
    assert_int_equal(m->cpus, 16);
    assert_int_equal(m->llc_domain[2], -1);
    assert_int_equal(topology_llc_domains(t)[3], -1);
    assert_int_equal(machine_node_cpus(m, 0), 3);
    assert_int_equal(machine_node_cpus(m, 1), 4);
    assert_int_equal(m->llc_domain[8], 1); /* its sibling 9 is gone */
    topology_free(t);
}

static void test_large(void **state)
{
    struct topology *t = machine_of("pack:4 numa:4 l3:4 core:8 pu:2", NULL, "",
                                    NULL);
    const struct machine *m = topology_machine(t);

    (void)state;
    assert_int_equal(cpuset_count(topology_cpus(t)), 1024);
    assert_int_equal(m->llc_domains, 64);
    assert_int_equal(m->numa_nodes, 16);
    assert_int_equal(m->links, 120);
    assert_int_equal(topology_count_cores(t, topology_cpus(t)), 512);
    check_routes(t);
    topology_free(t);
}

/* ---- descriptions -------------------------------------------------------- */

#define TWO "pack:2 [numa] l3:2 core:2 pu:2" /* CPUs 0-15, cores 0,2,... */

static struct machine_description *description(const char *text)
{
    struct errtext err = {""};
    struct json_reader reader = {.file = "text", .err = &err};
    json_t *value = json_reader_parse(&reader, text, strlen(text));
    struct machine_description *d =
        value ? machine_json_read(&reader, value) : NULL;

    json_decref(value);
    if (!d)
        fail_msg("%s", err.text);
    return d;
}

static void test_round_trip(void **state)
{
    static const uint64_t d[] = {10, 21, 21, 10};
    struct errtext err = {""};
    struct topology *t = machine_of(TWO, d, "", NULL);
    struct machine_description *own = topology_description(t);

    (void)state;
    json_t *first = machine_json_write(own);
    char *text = json_dumps(first, 0);
    struct machine_description *back = description(text);
    json_t *second = machine_json_write(back);
    assert_true(json_equal(first, second));
    assert_null(back->calibration);
    if (topology_use_description(t, back, &err) < 0)
        fail_msg("%s", err.text);
    machine_description_free(back);
    back = topology_description(t);
    json_decref(second);
    second = machine_json_write(back);
    assert_true(json_equal(first, second));
    json_decref(first);
    json_decref(second);
    free(text);
    machine_description_free(own);
    machine_description_free(back);
    topology_free(t);
}

/* Edited: packages for LLC domains, a core by its second thread, times. */
#define EDITED(more)                                                           \
    "{\"name\": \"edited\", \"llc_domains\": ["                                  \
    "{\"cpus\": \"0,3,4,6\", \"memory\": 0}, "                                 \
    "{\"cpus\": \"8,10,12,14\", \"memory\": 1}], "                             \
    "\"numa_nodes\": [{\"service_us\": 0.003}, {\"service_us\": 0.004}], "      \
    "\"links\": [{\"from\": 0, \"to\": 1, \"service_us\": 0.009}]" more "}"

static void test_edited(void **state)
{
    struct topology *t = machine_of(TWO, NULL, "", NULL);
    struct machine_description *d = description(EDITED(
        ", \"calibration\": {\"date\": \"today\", \"host\": \"here\", "
        "\"kernel\": \"6\", \"counters\": \"none\", \"more\": [1]}, "
        "\"power\": {\"idle_w\": 50, \"domain_w\": 10, \"core_w\": 5, "
        "\"stalled_w\": 3, \"request_nj\": 20}"));

    (void)state;
    assert_int_equal(topology_machine(t)->llc_domains, 4);
    assert_non_null(d->calibration);
    assert_int_equal(topology_use_description(t, d, NULL), 0);
    const struct machine *m = topology_machine(t);
    assert_int_equal(m->llc_domains, 2);
    assert_int_equal(machine_node_cpus(m, 0), 4);
    assert_int_equal(m->llc_domain[2], 0); /* named 3 in the file */
    assert_int_equal(m->llc_domain[3], -1);
    assert_int_equal(topology_llc_domains(t)[3], 0);
    assert_int_equal(topology_llc_domains(t)[15], 1);
    assert_true(m->controller_service_us[1] == 0.004);
    assert_true(m->link_service_us[0] == 0.009);
    assert_int_equal(hops(t, 0, 1), 1);
    assert_true(m->power.idle_w == 50 && m->power.core_w == 5 && m->power.request_nj == 20);
    machine_description_free(d);
    topology_free(t);
    /* Restricted to the second package: one LLC domain, both memories. */
    struct cosched_cpuset only = {{0xff00}};
    t = machine_of(TWO, NULL, "", &only);
    d = description(EDITED(""));
    assert_int_equal(topology_use_description(t, d, NULL), 0);
    m = topology_machine(t);
    assert_int_equal(m->llc_domains, 1);
    assert_int_equal(m->local_node[0], 1);
    assert_int_equal(hops(t, 0, 0), 1);
    assert_int_equal(hops(t, 0, 1), 0);
    machine_description_free(d);
    topology_free(t);
}

static void test_unfit(void **state)
{
    static const struct {
        const char *machine, *text;
    } bad[] = {
        {"pack:1 [numa] l3:4 core:2 pu:2", "2 NUMA nodes, this node 1"},
        {"pack:2 [numa] l3:1 core:2 pu:2", "has CPU 8, which this node lacks"},
        {"pack:2 [numa] l3:3 core:2 pu:2", "CPU 16 of this node is not"},
        {"pack:2 [numa] l3:1 core:1 pu:8", "in llc_domains[0] and [1]"},
    };
    struct machine_description *d = description(EDITED(""));

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct topology *t = machine_of(bad[i].machine, NULL, "", NULL);
        const struct machine *before = topology_machine(t);
        struct errtext err = {""};
        if (i == 3) { /* the first core of 0-7 is cut in two */
            d->machine->llc_domain[6] = 1;
        }
        assert_int_equal(topology_use_description(t, d, &err), -1);
        assert_int_equal(errno, EINVAL);
        if (!strstr(err.text, bad[i].text) || !strstr(err.text, "\"edited\""))
            fail_msg("\"%s\" lacks \"%s\"", err.text, bad[i].text);
        assert_ptr_equal(topology_machine(t), before);
        topology_free(t);
    }
    machine_description_free(d);
}

static void test_bad_calibration(void **state)
{
    static const struct {
        const char *text, *says;
    } bad[] = {
        {EDITED(", \"calibration\": 1"), "calibration"},
        {EDITED(", \"calibration\": {\"date\": \"d\"}"), "host"},
        {EDITED(", \"calibration\": {\"date\": 2}"), "date"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct errtext err = {""};
        struct json_reader reader = {.file = "text", .err = &err};
        json_t *value =
            json_reader_parse(&reader, bad[i].text, strlen(bad[i].text));
        assert_null(machine_json_read(&reader, value));
        if (!strstr(err.text, bad[i].says))
            fail_msg("\"%s\" lacks \"%s\"", err.text, bad[i].says);
        json_decref(value);
    }
}

UNIT(test_topology_links)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meshes),      cmocka_unit_test(test_no_distances),
        cmocka_unit_test(test_memory_only), cmocka_unit_test(test_asymmetric),
        cmocka_unit_test(test_holes),       cmocka_unit_test(test_large),
        cmocka_unit_test(test_round_trip),  cmocka_unit_test(test_edited),
        cmocka_unit_test(test_unfit),       cmocka_unit_test(test_bad_calibration),
    };

    return cmocka_run_group_tests_name("test_topology_links", tests, NULL, NULL);
}
