/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chain of N links, one end held at the origin, from the horizontal at rest (Cline 2002, section
 * 5.2.1: six links of 100 mm, h = 1 ms; Vondrak 2005, section 9.1.3: 32 links on joints of several
 * kinds, joint=mixed).
 *
 *   link=rod  thin rods, transverse inertia m L^2/12; axial m L^2/600, which planar motion does not
 *             feel; reference files for N = 2, 4, 6, 8, 16 of 0.1 m
 *   link=box  boxes L x 0.02 x 0.02 m, as engines are compared with
 *
 *   collide   links are boxes that touch each other, but for neighbours, which a joint holds (the
 *             chain of Vondrak 2005, figure 9.2, has contacts); friction 0.5, no restitution
 *   error     the links start off their places by so much, up and down in turn: the initial error
 * of the joints that Cline 2002, section 5.2.3, says post-stabilization does badly with
 *
 * The chain swings in the (x, z) plane (in the plane: (x, y)).  Masses cancel from the motion.
 * Chaotic for N > 1: with six links differences grow about as exp(11.5 t), so that a trajectory in
 * double precision means something until about 2.8 s. */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

enum { HORIZONTAL, HANGING };
static const char *const starts[] = { "horizontal", "hanging", NULL };
enum { ROD, BOX };
static const char *const link_names[] = { "rod", "box", NULL };
enum { BALL, HINGE, MIXED };
static const char *const joints[] = { "ball", "hinge", "mixed", NULL };

struct chain_opts {
  int links;
  double length, mass, gravity, error;
  int start, link, joint, dim, truth;
  bool collide;
};
static const perp_opt options[] = {
  PERP_INT(struct chain_opts, links, 6, 1, 1000000, "Number of links."),
  PERP_OPT_POSITIVE(struct chain_opts, length, 0.1, "m", "Length of a link."),
  PERP_OPT_NONNEGATIVE(struct chain_opts, mass, 0, "kg",
                       "Mass of a link. 0 means 1 kg for rods and 0.04 kg for boxes."),
  PERP_OPT_NONNEGATIVE(struct chain_opts, gravity, 9.81, "m/s^2", "Gravitational acceleration."),
  PERP_OPT_NONNEGATIVE(struct chain_opts, error, 0, "m",
                       "Initial joint error: links are displaced up and down in turn. Above 0 "
                       "there is no reference solution."),
  PERP_ENUM(struct chain_opts, start, HORIZONTAL, starts, "Initial shape of the chain, at rest."),
  PERP_ENUM(struct chain_opts, link, ROD, link_names,
            "Shape of the links: thin rods, or boxes of 0.02 m thickness."),
  PERP_ENUM(
      struct chain_opts, joint, BALL, joints,
      "Type of the joints: ball, hinge about y, or ball, hinge and universal in turn (mixed)."),
  PERP_OPT_DIM(struct chain_opts, 3),
  PERP_ENUM(struct chain_opts, truth, PERP_TRUTH_AUTO, perp_truth_names,
            "Reference solution: auto uses a reference file if one exists, and joint coordinates "
            "for at most 64 links."),
  PERP_BOOL(struct chain_opts, collide, false,
            "Contact between links that share no joint: boxes of 0.02 m thickness. There is no "
            "reference solution then."),
  PERP_OPTIONS_END
};

/* the reference file of N links of 0.1 m, NULL when there is none */
static const char *chain_file_of(int links)
{
  static const struct {
    int links;
    const char *file;
  } files[] = { { 2, "C_chain100mm_N2.csv" },
                { 4, "C_chain100mm_N4_2s.csv" },
                { 6, "C_chain100mm_N6_5s.csv" },
                { 8, "C_chain100mm_N8_2s.csv" },
                { 16, "C_chain100mm_N16_2s.csv" } };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    if (files[i].links == links) return files[i].file;
  return NULL;
}

static perp_status chain_truths(perp_ctx *ctx, perp_scene *scene, const perp_links *links,
                                const struct chain_opts *opts)
{
  const char *file = chain_file_of(opts->links);
  bool known = file != NULL && opts->length == 0.1 && opts->gravity == 9.81 &&
               opts->start == HORIZONTAL && opts->link == ROD;
  if (opts->truth == PERP_TRUTH_FILE && !known)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "chain: truth=file needs 2, 4, 6, 8 or 16 rods of 0.1 m, start=horizontal and "
                     "gravity=9.81");
  if (known && (opts->truth == PERP_TRUTH_AUTO || opts->truth == PERP_TRUTH_FILE))
    PERP_TRY(perp_links_file(ctx, scene, links, file, 1e-15));
  /* differences grow by about exp(11.5 t): 1e-13 a step is 1e-9 at 0.8 s, and nothing after 3 s */
  if (opts->truth == PERP_TRUTH_REDUCED || (opts->truth == PERP_TRUTH_AUTO && opts->links <= 64))
    PERP_TRY(perp_truth_reduced(ctx, scene, 2, 1e-8));
  return PERP_OK;
}

static perp_status chain_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct chain_opts *o = opts;
  if (o->joint == MIXED && o->dim == 2)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "chain: joint=mixed needs dim=3, as universal joints exist in space only");
  if (o->truth != PERP_TRUTH_AUTO && o->truth != PERP_TRUTH_NONE && (o->collide || o->error > 0))
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "chain: collide=true and error > 0 need truth=auto or truth=none: joint "
                     "coordinates have neither contacts nor joint errors");
  const double mass = o->mass > 0 ? o->mass : o->link == BOX ? 0.04 : 1;
  perp_link link = { PERP_LINK_BODY, o->length, o->length / 2,
                     o->link == BOX ? perp_mass_box(mass, o->length, 0.02, 0.02)
                                    : perp_mass_thin_rod(mass, o->length) };
  perp_links *links = perp_links_create(ctx, o->dim, o->links);
  if (links == NULL) return PERP_ERR_NOMEM;
  for (int i = 0; i < o->links; i++) links->link[i] = link;
  links->mixed = o->joint == MIXED;
  links->error = o->error;
  links->thick = o->collide ? 0.02 : 0;
  links->start = o->start == HANGING ? -M_PI_2 : 0;
  perp_status status = perp_links_model(ctx, scene, links,
                                        o->joint == HINGE ? PERP_JOINT_HINGE : PERP_JOINT_BALL,
                                        o->gravity, 0.8, NULL, NULL);
  if (status == PERP_OK && !o->collide && o->error == 0)
    status = chain_truths(ctx, scene, links, o);
  free(links);
  PERP_TRY(status);
  scene->tip[0] = o->length / 2;
  scene->dissipative = o->collide;
  return PERP_OK;
}

const perp_scene_desc perp_scene_chain = {
  .d = { .name = "chain",
         .summary = "Chain of N links that swings from the horizontal, one end fixed",
         .reference = "Cline 2002, section 5.2.1; Vondrak 2005, section 9.1.3",
         PERP_OPTIONS(options, struct chain_opts) },
  .build = chain_build,
};
