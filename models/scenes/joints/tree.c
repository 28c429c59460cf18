/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Binary tree of box links on ball joints: Vondrak 2005, section 9.1.3, tests an articulated
 * structure of 127 segments; the geometry is ours (his is not given).
 *
 * Heap order, parent of i = (i-1)/2.  The root leaves the origin along +x; a link at odd depth is
 * turned from its parent's direction about z, at even depth about y, by +30 degrees (odd i) or -30
 * (even i).  At rest at t = 0.
 *
 * soft > 0: a soft fixed joint beside each ball joint draws the angles to those of the start (his
 * soft constraints); gravity then only bends the tree, and without it (gravity=0, kick > 0: the
 * root turns about z at the start) it comes back to where it was.
 *
 * collide: links that no joint joins touch each other, siblings among them (his segments "can
 * collide"; he does not say which pairs are left out); friction 0.5, no restitution.  Siblings
 * leave one point, the closest two under 11 degrees only, so that boxes 0.02 m thick, as the mass
 * is, overlap by 23 mm at the start, siblings alone.  The boxes of contact are therefore inset: the
 * outer half of the link, L/20 thick, which leaves 0.034 L between siblings.  With 255 links others
 * overlap too. */
#include "models/geometry/kinematics.h"
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct tree_opts {
  int bodies;
  double length, mass, gravity;
  int truth;
  double soft, kick;
  bool collide;
};
enum { COLLIDE_MAX = 127 }; /* links that are clear of each other at the start */
static const perp_opt options[] = {
  PERP_INT(struct tree_opts, bodies, 127, 1, 1000000, "Number of links."),
  PERP_OPT_POSITIVE(struct tree_opts, length, 0.1, "m", "Length of a link."),
  PERP_OPT_POSITIVE(struct tree_opts, mass, 0.04, "kg", "Mass of a link."),
  PERP_OPT_NONNEGATIVE(struct tree_opts, gravity, 9.81, "m/s^2", "Gravitational acceleration."),
  PERP_ENUM(struct tree_opts, truth, PERP_TRUTH_AUTO, perp_truth_names,
            "Reference solution: auto uses joint coordinates for at most 255 links without "
            "compliant joints."),
  PERP_OPT_NONNEGATIVE(
      struct tree_opts, soft, 0, "",
      "Compliance S of a fixed joint in parallel with each ball joint. 0: no such joints."),
  PERP_OPT_NONNEGATIVE(struct tree_opts, kick, 0, "rad/s",
                       "Initial angular velocity about z of the whole tree, as one rigid body."),
  PERP_BOOL(struct tree_opts, collide, false,
            "Contact between links that share no joint, for at most 127 links. Boxes of thickness "
            "length/20 cover the outer half of each link. There is no reference solution then."),
  PERP_OPTIONS_END
};

struct link {
  double end[3], quat[4];
};

static perp_status add_shape(perp_ctx *ctx, perp_model *model, const struct tree_opts *opts, int i)
{
  const double l = opts->length;
  const perp_shape_def box = { .kind = PERP_SHAPE_BOX,
                               .body = i,
                               .x = { l / 4 },
                               .half = { l / 4, l / 40, l / 40 },
                               .surface = { .mu = 0.5, .mu_dynamic = 0.5 } };
  return perp_model_add_shape(ctx, model, &box, NULL);
}

static perp_status add_links(perp_ctx *ctx, perp_model *model, const struct tree_opts *opts,
                             struct link *link)
{
  const double half = opts->length / 2, along[3] = { half, 0, 0 };
  for (int i = 0, depth = 0; i < opts->bodies; i++) {
    if (i + 1 == 1 << (depth + 1)) depth++;
    const int parent = i == 0 ? PERP_WORLD : (i - 1) / 2;
    struct link *k = &link[i];
    perp_body_def body = { .mass = perp_mass_box(opts->mass, opts->length, 0.02, 0.02) };
    perp_joint_def joint = { .kind = PERP_JOINT_BALL, .a = parent, .b = i, .anchor_b = { -half } };
    const double origin[3] = { 0, 0, 0 };
    const double *start = parent < 0 ? origin : link[parent].end;
    if (parent < 0) {
      k->quat[0] = 1;
    } else {
      joint.anchor_a[0] = half;
      /* turned about a world axis: the product from the left */
      const double angle = (i % 2 == 1 ? 1 : -1) * M_PI / 6, c = cos(angle / 2), s = sin(angle / 2);
      const double y = depth % 2 == 1 ? 0 : s, z = depth % 2 == 1 ? s : 0;
      const double *p = link[parent].quat;
      k->quat[0] = c * p[0] - y * p[2] - z * p[3];
      k->quat[1] = c * p[1] + y * p[3] - z * p[2];
      k->quat[2] = c * p[2] + y * p[0] + z * p[1];
      k->quat[3] = c * p[3] - y * p[1] + z * p[0];
    }
    double R[9], d[3];
    perp_quat_matrix(k->quat, R);
    perp_turn(3, R, along, d);
    for (int c = 0; c < 3; c++) {
      body.x[c] = start[c] + d[c];
      k->end[c] = start[c] + 2 * d[c];
    }
    memcpy(body.quat, k->quat, sizeof body.quat);
    body.v[0] = -opts->kick * body.x[1];
    body.v[1] = opts->kick * body.x[0];
    for (int c = 0; c < 3; c++) body.w[c] = opts->kick * R[2 + 3 * c];
    PERP_TRY(perp_model_add_body(ctx, model, &body, NULL));
    PERP_TRY(perp_model_add_joint(ctx, model, &joint, NULL));
    if (opts->collide) PERP_TRY(add_shape(ctx, model, opts, i));
    if (opts->soft == 0) continue;
    joint.kind = PERP_JOINT_FIXED;
    joint.softness = opts->soft;
    PERP_TRY(perp_model_add_joint(ctx, model, &joint, NULL));
  }
  return PERP_OK;
}

static perp_status tree_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct tree_opts *chosen = opts;
  if (chosen->truth == PERP_TRUTH_FILE)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "tree: truth=file is not available, as no reference file exists: use auto, "
                     "reduced or none");
  if (chosen->collide && chosen->truth == PERP_TRUTH_REDUCED)
    return PERP_FAIL(
        ctx, PERP_ERR_OPTION,
        "tree: collide=true needs truth=auto or truth=none: joint coordinates have no contacts");
  if (chosen->collide && chosen->bodies > COLLIDE_MAX)
    return PERP_FAIL(
        ctx, PERP_ERR_OPTION,
        "tree: collide=true needs bodies <= %d: links of a deeper level would overlap at the start",
        COLLIDE_MAX);
  struct link *link = calloc((size_t)chosen->bodies, sizeof *link);
  if (link == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "tree: no memory for %d links", chosen->bodies);
  perp_status status = perp_model_create(ctx, 3, &scene->model);
  if (status == PERP_OK) status = add_links(ctx, scene->model, chosen, link);
  free(link);
  PERP_TRY(status);
  PERP_TRY(perp_scene_finish(ctx, scene, chosen->gravity, 1, 1e-3));
  scene->tip[0] = chosen->length / 2;
  if (chosen->collide) scene->dissipative = true;
  if (chosen->soft > 0) {
    scene->dissipative = true;
    if (chosen->gravity > 0 || chosen->kick == 0) return PERP_OK;
    /* Without gravity a tree on soft joints comes to rest, which it can only where their angles are
     * those of the start: all velocities at 0.9 s, over that of a tip of the first kick. */
    const double weight[6] = { 1, 1, 1, 1, 1, 1 }, rest[6] = { 0 };
    return perp_gauge_velocities(ctx, scene, "speed.rel.err", 0.9, weight, rest,
                                 chosen->kick * chosen->length);
  }
  if (chosen->collide) return PERP_OK;
  if (chosen->truth == PERP_TRUTH_REDUCED ||
      (chosen->truth == PERP_TRUTH_AUTO && chosen->bodies <= 255))
    return perp_truth_reduced(ctx, scene, 2, 1e-8);
  return PERP_OK;
}

const perp_scene_desc perp_scene_tree = {
  .d = { .name = "tree",
         .summary = "Binary tree of 127 links on ball joints",
         .reference = "Vondrak 2005, section 9.1.3 (127 segments)",
         PERP_OPTIONS(options, struct tree_opts) },
  .build = tree_build,
};
