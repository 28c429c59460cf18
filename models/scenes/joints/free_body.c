/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Free rigid body: Euler's equations with their closed form, rotation and attitude (Landau &
 * Lifshitz, Mechanics, section 37).
 *
 * Number the axes so that axis 3 is the one about which the angular momentum circulates in the body
 * and I_2 lies between I_1 and I_3.  With 2T = sum I w^2 and L^2 = sum I^2 w^2, and D_k = L^2 - 2T
 * I_k:
 *
 *      w_1 = a_1 cn,  w_2 = +-a_2 sn,  w_3 = +-a_3 dn  (u | k),   u = p t + u_0
 *
 *      a_1^2 = -D_3 / (I_1 (I_3-I_1)),  a_2^2 = -D_3 / (I_2 (I_3-I_2))
 *
 *      a_3^2 = D_1 / (I_3 (I_3-I_1))
 *
 *      p^2 = (I_3-I_2) D_1 / (I_1 I_2 I_3),   kc^2 = (I_3-I_1) D_2 / ((I_3-I_2) D_1)
 *
 * D_k = sum_j I_j (I_j - I_k) w_j^2 has no cancellation of its own.  The direction of L in the body
 * is I w / |L|; the angle phi about L in space follows from
 *
 *      phi' = |L| (2T - I_3 w_3^2) / (L^2 - I_3^2 w_3^2)
 *           = |L|/I_3 + |L| (2T - L^2/I_3) / (c (1 + n sn^2)),   c = L^2 - I_3^2 a_3^2,
 *      n = I_3^2 a_3^2 k^2 / c,
 *
 * an elliptic integral of the third kind.  The centre of mass moves on its parabola.
 * No closed form is attached to a body exactly on the separatrix (D_2 = 0). */
#include "models/geometry/kinematics.h"
#include "models/scenes/build.h"
#include "models/scenes/elliptic.h"

#include <math.h>
#include <string.h>

enum { DZHANIBEKOV, BOX149, BOX149_SIMPLE, SPIN, CUSTOM };
static const char *const presets[] = { "dzhanibekov", "box149", "box149-simple",
                                       "spin",        "custom", NULL };

struct free_opts {
  int preset;
  double mass, ix, iy, iz, wx, wy, wz, vx, vy, vz, gravity;
};
static const perp_opt options[] = {
  PERP_ENUM(struct free_opts, preset, DZHANIBEKOV, presets,
            "Predefined body. All other options of this scene need custom."),
  PERP_OPT_POSITIVE(struct free_opts, mass, 1, "kg", "Mass of the body."),
  PERP_OPT_POSITIVE(struct free_opts, ix, 1, "kg m^2", "Principal moment of inertia about x."),
  PERP_OPT_POSITIVE(struct free_opts, iy, 2, "kg m^2", "Principal moment of inertia about y."),
  PERP_OPT_POSITIVE(struct free_opts, iz, 2.5, "kg m^2", "Principal moment of inertia about z."),
  PERP_OPT_FINITE(struct free_opts, wx, 1, "rad/s",
                  "Initial angular velocity about x of the body frame."),
  PERP_OPT_FINITE(struct free_opts, wy, 0.5, "rad/s",
                  "Initial angular velocity about y of the body frame."),
  PERP_OPT_FINITE(struct free_opts, wz, 0.7, "rad/s",
                  "Initial angular velocity about z of the body frame."),
  PERP_OPT_FINITE(struct free_opts, vx, 0, "m/s", "Initial velocity along x."),
  PERP_OPT_FINITE(struct free_opts, vy, 0, "m/s", "Initial velocity along y."),
  PERP_OPT_FINITE(struct free_opts, vz, 0, "m/s", "Initial velocity along z."),
  PERP_OPT_FINITE(struct free_opts, gravity, 0, "m/s^2", "Gravitational acceleration."),
  PERP_OPTIONS_END
};

static const struct preset {
  struct free_opts o;
  double t_end, h;
  const char *file;
} known[] = {
  [DZHANIBEKOV] = { { DZHANIBEKOV, 1, 1, 2, 3, 0.001, 1, 0, 0, 0, 0, 0 },
                    60,
                    0.01,
                    "C_dzhanibekov_123.csv" },
  [BOX149] = { { BOX149, 10, 97 / 120.0, 41 / 60.0, 17 / 120.0, 0.1, 5, 0.1, -2, 2, 8, 9.81 },
               10,
               1e-3,
               "C_box149_complex_rotation.csv" },
  [BOX149_SIMPLE] = { { BOX149_SIMPLE, 10, 97 / 120.0, 41 / 60.0, 17 / 120.0, 0.5, 0, 0, -0.9, 0.4,
                        0.1, 9.81 },
                      10,
                      1e-3,
                      NULL },
  [SPIN] = { { SPIN, 1, 1, 2, 3, 0.01, 5, 0.01, 0, 0, 0, 0 }, 20, 0.01, NULL },
};

/* ---- closed form ---- */

struct rotation {
  struct free_opts o;
  bool steady;               /* rotation about a fixed direction of the body */
  int axis[3];               /* body axis of each axis 1, 2, 3 */
  double sign;               /* of axis 2, so that the three are right-handed */
  double I[3], a[3], s2, s3; /* amplitudes; signs of w_2, w_3 */
  double L, p, u0, kc, n, c, slope, factor, phi0;
  double start[9]; /* attitude = start E(t), E(t): body to the frame with L along z */
};

/* components along the axes 1, 2, 3 */
static void free_body_sorted(const struct rotation *rotation, const double w[3], double out[3])
{
  for (int i = 0; i < 3; i++) out[i] = (i == 1 ? rotation->sign : 1) * w[rotation->axis[i]];
}

static void free_body_motion(const struct rotation *rotation, double t, double w[3], double *phi)
{
  double am = perp_elliptic_am(rotation->p * t + rotation->u0, rotation->kc);
  double s[3] = { rotation->a[0] * cos(am), rotation->s2 * rotation->a[1] * sin(am),
                  rotation->s3 * rotation->a[2] * perp_elliptic_dn(am, rotation->kc) };
  for (int i = 0; i < 3; i++) w[rotation->axis[i]] = (i == 1 ? rotation->sign : 1) * s[i];
  *phi = rotation->slope * t + rotation->factor * perp_elliptic_Pi(am, rotation->n, rotation->kc);
}

/* E [9] column-major: body to the frame with L along z, for direction of L in the body and angle
 * phi.  The axis that defines phi = 0 is the node of axis 3 of the body, e_3 x l. */
static void free_body_frame(const struct rotation *rotation, const double w[3], double phi,
                            double E[9])
{
  double l[3], axis3[3] = { 0 }, node[3], third[3];
  const double moments[3] = { rotation->o.ix, rotation->o.iy, rotation->o.iz };
  for (int i = 0; i < 3; i++) l[i] = moments[i] * w[i] / rotation->L;
  axis3[rotation->axis[2]] = 1;
  perp_cross(l, axis3, node); /* horizontal, turning with phi */
  double length = sqrt(perp_dot(3, node, node));
  for (int i = 0; i < 3; i++) node[i] /= length;
  perp_cross(l, node, third);
  const double c = cos(phi), s = sin(phi);
  for (int j = 0; j < 3; j++) {
    E[3 * j] = c * node[j] - s * third[j];
    E[3 * j + 1] = s * node[j] + c * third[j];
    E[3 * j + 2] = l[j];
  }
}

static void to_quaternion(const double R[9], double q[4])
{
  /* the largest of the four squares first */
  const double square[4] = { 1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                             1 - R[0] - R[4] + R[8] };
  int k = 0;
  for (int i = 1; i < 4; i++)
    if (square[i] > square[k]) k = i;
  const double s = 0.5 / sqrt(square[k]);
  const double rows[4][4] = {
    { square[0], R[5] - R[7], R[6] - R[2], R[1] - R[3] },
    { R[5] - R[7], square[1], R[1] + R[3], R[2] + R[6] },
    { R[6] - R[2], R[1] + R[3], square[2], R[5] + R[7] },
    { R[1] - R[3], R[2] + R[6], R[5] + R[7], square[3] },
  };
  for (int i = 0; i < 4; i++) q[i] = s * rows[k][i];
}

static void free_body_exact(void *user, double t, double *q, double *v)
{
  const struct rotation *rotation = user;
  const struct free_opts *opts = &rotation->o;
  q[0] = opts->vx * t, q[1] = opts->vy * t, q[2] = opts->vz * t - 0.5 * opts->gravity * t * t;
  v[0] = opts->vx, v[1] = opts->vy, v[2] = opts->vz - opts->gravity * t;
  if (rotation->steady) {
    const double w[3] = { opts->wx, opts->wy, opts->wz },
                 dtheta[3] = { w[0] * t, w[1] * t, w[2] * t };
    const double identity[4] = { 1, 0, 0, 0 };
    perp_quat_retract(identity, dtheta, q + 3);
    memcpy(v + 3, w, sizeof w);
    return;
  }
  double phi, E[9], R[9];
  free_body_motion(rotation, t, v + 3, &phi);
  free_body_frame(rotation, v + 3, phi - rotation->phi0, E);
  for (int j = 0; j < 3; j++) perp_turn(3, rotation->start, E + 3 * j, R + 3 * j);
  to_quaternion(R, q + 3);
}

/* false: no closed form (on the separatrix) */
static bool free_body_prepare(struct rotation *r)
{
  const struct free_opts *opts = &r->o;
  const double I[3] = { opts->ix, opts->iy, opts->iz }, w[3] = { opts->wx, opts->wy, opts->wz };
  double L2 = 0;
  for (int i = 0; i < 3; i++) L2 += I[i] * I[i] * w[i] * w[i];
  r->L = sqrt(L2);
  /* steady when I w is parallel to w */
  r->steady = true;
  for (int i = 0; i < 3; i++) {
    int j = (i + 1) % 3;
    if ((I[i] - I[j]) * w[i] * w[j] != 0) r->steady = false;
  }
  if (r->steady) return true;

  /* by rising inertia; L circulates about the largest when L^2 > 2T I_middle, else about the
   * smallest */
  int lo = 0, hi = 2;
  for (int i = 0; i < 3; i++) {
    if (I[i] < I[lo]) lo = i;
    if (I[i] >= I[hi]) hi = i;
  }
  const int mid = 3 - lo - hi;
  double D_mid = 0;
  for (int j = 0; j < 3; j++) D_mid += I[j] * (I[j] - I[mid]) * w[j] * w[j];
  if (D_mid == 0) return false;
  r->axis[0] = D_mid > 0 ? lo : hi;
  r->axis[1] = mid;
  r->axis[2] = D_mid > 0 ? hi : lo;
  r->sign = (r->axis[1] - r->axis[0] + 3) % 3 == 1 ? 1 : -1;
  double ws[3], D[3] = { 0 };
  free_body_sorted(r, w, ws);
  for (int i = 0; i < 3; i++) r->I[i] = I[r->axis[i]];
  for (int k = 0; k < 3; k++)
    for (int j = 0; j < 3; j++) D[k] += r->I[j] * (r->I[j] - r->I[k]) * ws[j] * ws[j];
  const double *J = r->I;
  r->a[0] = sqrt(-D[2] / (J[0] * (J[2] - J[0])));
  r->a[1] = sqrt(-D[2] / (J[1] * (J[2] - J[1])));
  r->a[2] = sqrt(D[0] / (J[2] * (J[2] - J[0])));
  r->p = sqrt((J[2] - J[1]) * D[0] / (J[0] * J[1] * J[2]));
  r->kc = sqrt((J[2] - J[0]) * D[1] / ((J[2] - J[1]) * D[0]));
  const double k2 = (J[1] - J[0]) * -D[2] / ((J[2] - J[1]) * D[0]);
  r->s3 = ws[2] < 0 ? -1 : 1;
  r->s2 = (J[2] > J[1] ? 1 : -1) * r->s3;
  r->u0 = perp_elliptic_F(atan2(r->s2 * ws[1] / r->a[1], ws[0] / r->a[0]), r->kc);
  /* c = L^2 - (I_3 a_3)^2 is the square of L across axis 3 where sn = 0: (I_1 a_1)^2 */
  r->c = J[0] * J[0] * r->a[0] * r->a[0];
  r->n = J[2] * J[2] * r->a[2] * r->a[2] * k2 / r->c;
  r->slope = r->L / J[2];
  r->factor = r->L * -D[2] / J[2] / (r->c * r->p); /* 2T - L^2/I_3 = -D_3 / I_3 */
  double at0[3], E[9];
  free_body_motion(r, 0, at0, &r->phi0);
  free_body_frame(r, w, 0, E);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) r->start[i + 3 * j] = E[j + 3 * i];
  return isfinite(r->phi0) && isfinite(r->u0) && r->kc > 1e-12;
}

static void free_body_map_file(void *user, double t, const double *row, double *q, double *v)
{
  const struct free_opts *opts = user;
  q[0] = opts->vx * t, q[1] = opts->vy * t, q[2] = opts->vz * t - 0.5 * opts->gravity * t * t;
  v[0] = opts->vx, v[1] = opts->vy, v[2] = opts->vz - opts->gravity * t;
  memcpy(q + 3, row, 4 * sizeof *q);
  memcpy(v + 3, row + 4, 3 * sizeof *v);
}

/* ---- scene ---- */

static const perp_desc *own_desc(void);

/* with a preset every other option must be at its default */
static perp_status check_preset(perp_ctx *ctx, const struct free_opts *opts)
{
  struct free_opts plain;
  perp_opts_default(own_desc(), &plain);
  plain.preset = opts->preset;
  for (const perp_opt *opt = options + 1; opt->type != PERP_OPT_END; opt++) {
    double mine, other;
    memcpy(&mine, (const char *)opts + opt->offset, sizeof mine);
    memcpy(&other, (const char *)&plain + opt->offset, sizeof other);
    if (mine != other)
      return PERP_FAIL(ctx, PERP_ERR_OPTION,
                       "free-body: option %s needs preset=custom: the preset is %s", opt->key,
                       presets[opts->preset]);
  }
  return PERP_OK;
}

static perp_status free_body_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "qw", "qx", "qy", "qz", "wx_body", "wy_body", "wz_body" };
  struct free_opts chosen = *(const struct free_opts *)opts;
  const struct preset *preset = NULL;
  if (chosen.preset != CUSTOM) {
    PERP_TRY(check_preset(ctx, &chosen));
    preset = &known[chosen.preset];
    chosen = preset->o;
  }
  perp_body_def body = { .name = "body",
                         .mass = { chosen.mass,
                                   { chosen.ix, 0, 0, 0, chosen.iy, 0, 0, 0, chosen.iz } },
                         .v = { chosen.vx, chosen.vy, chosen.vz },
                         .w = { chosen.wx, chosen.wy, chosen.wz } };
  const perp_scene_parts parts = { .gravity = chosen.gravity, .body = &body };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, preset != NULL ? preset->t_end : 10,
                               preset != NULL ? preset->h : 0.01));
  scene->isolated = true;
  scene->tip_body = PERP_WORLD; /* its centre flies, whatever the rotation does */

  struct rotation rotation = { .o = chosen };
  if (free_body_prepare(&rotation))
    PERP_TRY(perp_truth_add(ctx, scene,
                            rotation.steady ? "closed form: uniform rotation"
                                            : "closed form: Jacobi elliptic functions",
                            1e-12, free_body_exact, &rotation, sizeof rotation));
  if (preset != NULL && preset->file != NULL)
    PERP_TRY(perp_truth_file(ctx, scene, preset->file, 1e-15, 7, columns, free_body_map_file,
                             &chosen, sizeof chosen));
  return perp_truth_reduced(ctx, scene, 200, 1e-9);
}

const perp_scene_desc perp_scene_free_body = {
  .d = { .name = "free-body",
         .summary = "Free asymmetric rigid body: Dzhanibekov's flips, a tumbling box, or any other",
         .reference = "Landau & Lifshitz, Mechanics, section 37",
         .equation = "I w' + w x I w = 0, R' = R [w]x",
         PERP_OPTIONS(options, struct free_opts) },
  .build = free_body_build,
};

static const perp_desc *own_desc(void)
{
  return &perp_scene_free_body.d;
}
