/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which parts of a simulation have a say in it.  One answer for the command line, where a part that
 * is named and not used is an error, and for studies, where combinations that differ in such a part
 * are one cell. */
#ifndef PERP_PARTS_H
#define PERP_PARTS_H

#include "experiments/study/kind.h"
#include "experiments/simulate/simulate.h"

enum {
  PERP_PART_FORMULATION,
  PERP_PART_ODE,
  PERP_PART_KKT,
  PERP_PART_LCP,
  PERP_PART_STAB,
  PERP_PART_CONTACT,
  PERP_PART_ENGINE, /* in place of all others */
  PERP_PARTS
};
/* Rows of a table of parameters whose entries from FIRST on are those parts, without the engine. */
#define PERP_PART_PARAM(first, part, name, says)                                                   \
  [(first) + PERP_PART_##part] = {                                                                 \
    .key = #name, .help = says, .type = PERP_PARAM_PLUGIN, .plugin = PERP_KIND_##name, .dflt = ""  \
  }
#define PERP_PART_PARAMS(first)                                                                    \
  PERP_PART_PARAM(first, FORMULATION, formulation,                                                 \
                  "Formulation: turns the scene into equations of motion."),                       \
      PERP_PART_PARAM(first, ODE, ode, "Integrator of the equations of motion."),                  \
      PERP_PART_PARAM(first, KKT, kkt,                                                             \
                      "Solver of the linear (KKT) system of the constrained dynamics."),           \
      PERP_PART_PARAM(first, LCP, lcp, "Solver of the contact problem."),                          \
      PERP_PART_PARAM(first, STAB, stab, "Method of constraint stabilization."),                   \
      PERP_PART_PARAM(first, CONTACT, contact, "Contact and friction law.")
/* "formulation", "ode", ...; the kind of plug-in; the part of *parts; the text of a request, NULL
 * or "": not named; that of a result, "": not used. */
const char *perp_part_name(int part);
perp_kind perp_part_kind(int part);
perp_spec *perp_part(perp_parts *parts, int part);
const char **perp_part_text(perp_request *request, int part);
const char *perp_part_used(const perp_result *result, int part);

/* What decides about parts in a scene. */
typedef struct perp_scene_facts {
  bool bodies; /* false: a plain ODE problem, which takes an ode only */
  int rows;    /* of joints */
  int shapes, drives;
} perp_scene_facts;
void perp_scene_look(const perp_scene *scene, perp_scene_facts *facts);

/* NULL: the part has a say.  Else the reason, written to why: "with formulation reduced", "in scene
 * free-body, which has no joints".  scene: its name.  formulation: what perp_parts_formulation
 * says, NULL for a scene without bodies. */
const char *perp_part_unused(const perp_scene_facts *facts, const char *scene,
                             const perp_desc *formulation, int part, char why[PERP_WHY_MAX]);

/* The parts that a request names, with the defaults of what it leaves out; what has no say is
 * empty.  scene: the one that request->scene names, `name` its plug-in.  *adaptive: the ode chooses
 * its steps.  PERP_ERR_UNSUPPORTED: a part is named that has no say; PERP_ERR_OPTION: no such part.
 *  The caller frees the specs, also on failure.  Allocates. */
perp_status perp_parts_read(perp_ctx *ctx, const perp_request *request, const perp_scene *scene,
                            const char *name, perp_parts *parts, bool *adaptive);
/* The parts by their names, in the result. */
void perp_parts_write(const perp_parts *parts, perp_result *result);

#endif
