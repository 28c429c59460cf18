/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The header of an outside plug-in: all interfaces, and how a shared object says what it holds.
 *
 * A plug-in file defines descriptors as the files of perp do, and ends in one line that lists them:
 *
 *      static const perp_lcp_desc mine = { .d = { .name = "mine", ... }, .create = ..., ... };
 *      PERP_OUTSIDE({ PERP_KIND_lcp, &mine.d });
 *
 * Build it with   cc -shared -fPIC $(pkg-config --cflags perp) mine.c -o mine.so   and give it to
 * any command with --plugin mine.so, or put it into a folder that PERP_PLUGIN_PATH names.
 * Functions of perp (perp_arena_reserve, perp_blocks_A, ...) are found in the program that loads
 * it: nothing is linked. docs/how-to/plugins.md tells the whole story. */
#ifndef PERP_PERP_H
#define PERP_PERP_H

#include "experiments/metrics/metrics.h"
#include "models/contact/laws/contact.h"
#include "models/models.h"
#include "solvers/solvers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Size of a structure as the compiler of the plug-in saw it. */
typedef struct perp_layout {
  const char *what;
  size_t size;
} perp_layout;

#define PERP_OUTSIDE_MAGIC 0x70657270706c7567u /* "perpplug" */

/* What a plug-in file exports, under the name perp_outside_plugin.  `magic` and `abi` keep their
 * places in all versions; nothing behind them is read unless abi is that of the program, and no
 * descriptor unless all sizes are the same. */
typedef struct perp_outside {
  uint64_t magic;
  int abi;                    /* PERP_ABI */
  const perp_layout *layout;  /* ended by a NULL name */
  const perp_plugin *plugins; /* ended by PERP_KIND_NONE */
} perp_outside;

/* Every structure that crosses the border. */
/* clang-format off */
#define PERP_LAYOUT_OF(T) { #T, sizeof(T) }
#define PERP_LAYOUT                                                                               \
  {                                                                                               \
    PERP_LAYOUT_OF(perp_ctx), PERP_LAYOUT_OF(perp_desc), PERP_LAYOUT_OF(perp_opt),                \
    PERP_LAYOUT_OF(perp_plugin), PERP_LAYOUT_OF(perp_spec),                                       \
    PERP_LAYOUT_OF(perp_stats), PERP_LAYOUT_OF(perp_trace_event), PERP_LAYOUT_OF(perp_arena),     \
    PERP_LAYOUT_OF(perp_blocks),                                                                  \
    PERP_LAYOUT_OF(perp_ode_sys), PERP_LAYOUT_OF(perp_ode_control),                               \
    PERP_LAYOUT_OF(perp_ode_desc),                                                                \
    PERP_LAYOUT_OF(perp_kkt_desc),                                                                \
    PERP_LAYOUT_OF(perp_lcp), PERP_LAYOUT_OF(perp_lcp_desc),                                      \
    PERP_LAYOUT_OF(perp_stab_sys), PERP_LAYOUT_OF(perp_stab_desc),                                \
    PERP_LAYOUT_OF(perp_parts), PERP_LAYOUT_OF(perp_step_info),                                   \
    PERP_LAYOUT_OF(perp_formulation_desc),                                                        \
    PERP_LAYOUT_OF(perp_mass), PERP_LAYOUT_OF(perp_body_def), PERP_LAYOUT_OF(perp_joint_def),     \
    PERP_LAYOUT_OF(perp_force_def), PERP_LAYOUT_OF(perp_shape_def),                               \
    PERP_LAYOUT_OF(perp_contact_setup), PERP_LAYOUT_OF(perp_contact_island),                      \
    PERP_LAYOUT_OF(perp_contact_desc),                                                            \
    PERP_LAYOUT_OF(perp_truth), PERP_LAYOUT_OF(perp_scene), PERP_LAYOUT_OF(perp_scene_desc),      \
    PERP_LAYOUT_OF(perp_measure), PERP_LAYOUT_OF(perp_metric_desc),                               \
    PERP_LAYOUT_OF(perp_body_state), PERP_LAYOUT_OF(perp_force_desc),                             \
    PERP_LAYOUT_OF(perp_joint_desc), PERP_LAYOUT_OF(perp_engine_desc),     \
    { NULL, 0 } }
/* clang-format on */

/* The last line of a plug-in file: { kind, descriptor }, ... */
#define PERP_OUTSIDE(...)                                                                          \
  extern const perp_outside perp_outside_plugin;                                                   \
  const perp_outside perp_outside_plugin = {                                                       \
    PERP_OUTSIDE_MAGIC, PERP_ABI, (const perp_layout[])PERP_LAYOUT,                                \
    (const perp_plugin[]){ __VA_ARGS__, { PERP_KIND_NONE, NULL } }                                 \
  }

#ifdef __cplusplus
}
#endif

#endif
