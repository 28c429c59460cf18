/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints: C, J and Jdot v of every kind, in space and in the plane, with the world on either
 * side, against this file's own complex-valued C(q [+] eps): J by the complex step, Jdot v by
 * differences of it; and against real finite differences of the library's own C and J. */
#include "models/multibody/model.h"
#include "tests/tap.h"

#include <complex.h>
#include <string.h>

typedef double complex cplx;

/* CMPLX is not there with every compiler, and I is a float */
static cplx complex_of(double re, double im)
{
  const double parts[2] = { re, im };
  cplx z;
  memcpy(&z, parts, sizeof z);
  return z;
}

static perp_ctx ctx;
static perp_rng *rng;

/* ---- a complex-valued rigid body: pose (x, R) of dimension d ---- */

typedef struct pose {
  cplx x[3], R[3][3];
} pose;

static void multiply(int d, cplx A[3][3], cplx B[3][3], cplx AB[3][3])
{
  cplx out[3][3] = { { 0 } };
  for (int i = 0; i < d; i++)
    for (int j = 0; j < d; j++)
      for (int k = 0; k < d; k++) out[i][j] += A[i][k] * B[k][j];
  memcpy(AB, out, sizeof out);
}

/* P [+] s dq: x + s dx, R exp(s [dtheta]x), the exponential by its series */
static pose moved(int d, const pose *P, cplx s, const double *dq)
{
  pose out = *P;
  cplx W[3][3] = { { 0 } }, term[3][3] = { { 0 } }, sum[3][3] = { { 0 } };
  for (int i = 0; i < d; i++) out.x[i] += s * dq[i];
  if (d == 3) {
    W[2][1] = s * dq[3], W[0][2] = s * dq[4], W[1][0] = s * dq[5];
    W[1][2] = -W[2][1], W[2][0] = -W[0][2], W[0][1] = -W[1][0];
  } else {
    W[1][0] = s * dq[2], W[0][1] = -W[1][0];
  }
  for (int i = 0; i < d; i++) sum[i][i] = term[i][i] = 1;
  for (int n = 1; n < 25; n++) {
    multiply(d, term, W, term);
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++) {
        term[i][j] /= n;
        sum[i][j] += term[i][j];
      }
  }
  multiply(d, out.R, sum, out.R);
  return out;
}

static void turned(int d, const pose *P, const double *s, cplx *y)
{
  for (int i = 0; i < d; i++) {
    y[i] = 0;
    for (int j = 0; j < d; j++) y[i] += P->R[i][j] * s[j];
  }
}

static cplx dot(int d, const cplx *a, const cplx *b)
{
  cplx sum = 0;
  for (int i = 0; i < d; i++) sum += a[i] * b[i];
  return sum;
}

/* ---- the definition of each joint ---- */

typedef struct twin {
  int d;
  perp_joint_def def;
  double n[2][3]; /* directions perpendicular to axis_a, as found by probing */
  pose A0, B0;    /* initial poses */
} twin;

/* anchors may move apart along axis_a */
static bool slides(perp_joint_kind kind)
{
  return kind == PERP_JOINT_SLIDER || kind == PERP_JOINT_LINE || kind == PERP_JOINT_WHEEL ||
         kind == PERP_JOINT_CYLINDRICAL;
}

static int error_of(const twin *t, const pose *A, const pose *B, cplx *C)
{
  const perp_joint_def *j = &t->def;
  int d = t->d, row = 0;
  cplx ra[3], rb[3], delta[3];
  turned(d, A, j->anchor_a, ra);
  turned(d, B, j->anchor_b, rb);
  for (int i = 0; i < d; i++) delta[i] = B->x[i] + rb[i] - A->x[i] - ra[i];
  if (j->kind != PERP_JOINT_DISTANCE && j->kind != PERP_JOINT_PLANAR && !slides(j->kind))
    for (int i = 0; i < d; i++) C[row++] = delta[i];
  if (j->kind == PERP_JOINT_SLIDER || j->kind == PERP_JOINT_FIXED) {
    /* Q = Ra' Rb (Ra0' Rb0)', rows Q(i, i+1) */
    cplx At[3][3], Q[3][3], Bt0[3][3];
    for (int i = 0; i < d; i++)
      for (int k = 0; k < d; k++) At[i][k] = A->R[k][i], Bt0[i][k] = t->B0.R[k][i];
    multiply(d, At, (cplx(*)[3])(uintptr_t)B->R, Q);
    multiply(d, Q, Bt0, Q);
    multiply(d, Q, (cplx(*)[3])(uintptr_t)t->A0.R, Q);
    for (int i = 0; i < (d == 3 ? 3 : 1); i++) C[row++] = Q[i][(i + 1) % d];
  }
  cplx na[3], nb[3];
  double unit[3], unit_b[3], la = 0, lb = 0;
  for (int i = 0; i < d; i++) la += j->axis_a[i] * j->axis_a[i], lb += j->axis_b[i] * j->axis_b[i];
  for (int i = 0; i < d; i++)
    unit[i] = j->axis_a[i] / sqrt(la), unit_b[i] = j->axis_b[i] / sqrt(lb);
  switch (j->kind) {
  case PERP_JOINT_HINGE:
    if (d == 2) break;
    turned(d, B, unit_b, nb);
    for (int k = 0; k < 2; k++) {
      turned(d, A, t->n[k], na);
      C[row++] = dot(d, na, nb);
    }
    break;
  case PERP_JOINT_PLANAR:
    turned(d, B, unit_b, nb);
    for (int k = 0; k < 2; k++) {
      turned(d, A, t->n[k], na);
      C[row++] = dot(d, na, nb);
    }
    turned(d, A, unit, na);
    C[row++] = dot(d, na, delta);
    break;
  case PERP_JOINT_UNIVERSAL:
    turned(d, A, unit, na);
    turned(d, B, unit_b, nb);
    C[row++] = dot(d, na, nb);
    break;
  case PERP_JOINT_SLIDER:
  case PERP_JOINT_LINE:
  case PERP_JOINT_WHEEL:
  case PERP_JOINT_CYLINDRICAL:
    for (int k = 0; k < d - 1; k++) {
      turned(d, A, t->n[k], na);
      C[row++] = dot(d, na, delta);
    }
    for (int k = 0; k < 2 && j->kind == PERP_JOINT_CYLINDRICAL; k++) {
      turned(d, A, t->n[k], na);
      turned(d, B, unit_b, nb);
      C[row++] = dot(d, na, nb);
    }
    if (j->kind != PERP_JOINT_WHEEL) break;
    turned(d, A, unit, na);
    turned(d, B, unit_b, nb);
    C[row++] = dot(d, na, nb);
    break;
  case PERP_JOINT_DISTANCE:
    C[row++] = csqrt(dot(d, delta, delta)) - j->length;
    break;
  default:
    break;
  }
  return row;
}

/* ---- random models ---- */

static void random_rotation(double quat[4])
{
  double n = 0;
  for (int i = 0; i < 4; i++) quat[i] = perp_rng_normal(rng), n += quat[i] * quat[i];
  for (int i = 0; i < 4; i++) quat[i] /= sqrt(n);
}

static pose pose_at(const perp_model *model, const double *q, int body)
{
  pose P = { { 0 }, { { 0 } } };
  double R[9], x[3];
  perp_model_rotation(model, q, body, R);
  perp_model_point(model, q, body, (const double[3]){ 0 }, x);
  for (int i = 0; i < 3; i++) {
    P.x[i] = x[i];
    for (int j = 0; j < 3; j++) P.R[i][j] = R[i + 3 * j];
  }
  return P;
}

/* A body frame vector s with R s = n */
static void into_body(int d, const pose *P, const double *n, double *s)
{
  for (int i = 0; i < 3; i++) s[i] = 0;
  for (int j = 0; j < d; j++)
    for (int i = 0; i < d; i++) s[j] += creal(P->R[i][j]) * n[i];
}

static perp_model *empty_model(int d, double mass)
{
  perp_model *model;
  if (perp_model_create(&ctx, d, &model) != PERP_OK) bail("%s", ctx.msg);
  for (int b = 0; b < 2; b++) {
    perp_body_def body = { .mass = perp_mass_box(mass, 1, 2, 3) };
    for (int i = 0; i < d; i++) body.x[i] = perp_rng_normal(rng);
    random_rotation(body.quat);
    body.angle = 4 * perp_rng_normal(rng);
    if (perp_model_add_body(&ctx, model, &body, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  return model;
}

/* world quantities of one body before finish */
static pose initial_pose(int d, const perp_model *model, int body)
{
  pose P = { { 0 }, { { 0 } } };
  if (body == PERP_WORLD) {
    for (int i = 0; i < 3; i++) P.R[i][i] = 1;
    return P;
  }
  const perp_body_def *def = perp_model_body(model, body);
  for (int i = 0; i < d; i++) P.x[i] = def->x[i];
  if (d == 2) {
    P.R[0][0] = P.R[1][1] = cos(def->angle);
    P.R[1][0] = sin(def->angle), P.R[0][1] = -sin(def->angle);
    return P;
  }
  /* R e_k = vector part of q (0, e_k) q* */
  const double *q = def->quat;
  for (int k = 0; k < 3; k++) {
    double e[3] = { 0 }, u[3], w[3];
    e[k] = 1;
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, l = (i + 2) % 3;
      u[i] = q[0] * e[i] + q[1 + j] * e[l] - q[1 + l] * e[j];
    }
    for (int i = 0; i < 3; i++) {
      int j = (i + 1) % 3, l = (i + 2) % 3;
      w[i] = e[i] + 2 * (q[1 + j] * u[l] - q[1 + l] * u[j]);
    }
    for (int i = 0; i < 3; i++) P.R[i][k] = w[i];
  }
  return P;
}

/* a joint of the kind that the initial state satisfies */
static perp_model *random_joint(int d, perp_joint_kind kind, int a, int b, twin *t)
{
  perp_model *model = empty_model(d, 2);
  double p[3] = { 0 }, pb[3] = { 0 }, n[3] = { 0 }, nb[3] = { 0 }, rel[3] = { 0 };
  t->d = d;
  t->A0 = initial_pose(d, model, a);
  t->B0 = initial_pose(d, model, b);
  t->def = (perp_joint_def){ .name = "it", .kind = kind, .a = a, .b = b };
  for (int i = 0; i < d; i++) p[i] = pb[i] = perp_rng_normal(rng), n[i] = perp_rng_normal(rng);
  memcpy(nb, n, sizeof nb);
  if (kind == PERP_JOINT_UNIVERSAL || kind == PERP_JOINT_WHEEL) {
    nb[0] = n[1], nb[1] = -n[0], nb[2] = 0; /* perpendicular */
  }
  if (slides(kind))
    for (int i = 0; i < d; i++) pb[i] += 1.7 * n[i];
  if (kind == PERP_JOINT_DISTANCE) {
    for (int i = 0; i < d; i++) pb[i] += n[i], t->def.length += n[i] * n[i];
    t->def.length = sqrt(t->def.length);
  }
  for (int i = 0; i < d; i++) rel[i] = p[i] - creal(t->A0.x[i]);
  into_body(d, &t->A0, rel, t->def.anchor_a);
  for (int i = 0; i < d; i++) rel[i] = pb[i] - creal(t->B0.x[i]);
  into_body(d, &t->B0, rel, t->def.anchor_b);
  into_body(d, &t->A0, n, t->def.axis_a);
  into_body(d, &t->B0, nb, t->def.axis_b);
  if (perp_model_add_joint(&ctx, model, &t->def, NULL) != PERP_OK ||
      perp_model_finish(&ctx, model) != PERP_OK)
    bail("%s", ctx.msg);
  return model;
}

/* The directions that the library chose perpendicular to axis_a: the hinge row is n_k . (Ra' Rb
 * axis_b) and the slider row n_k . Ra' (p_b - p_a), linear in a unit vector that this sets to
 * e_0, e_1, e_2. */
static void probe(const perp_model *model, twin *t)
{
  int d = t->d, nq = perp_model_nq(model), m = perp_model_m(model), a = t->def.a, b = t->def.b;
  double q[14], C[6], back[14];
  bool slider = slides(t->def.kind);
  memset(t->n, 0, sizeof t->n);
  const perp_joint_kind kind = t->def.kind;
  if (!slider && kind != PERP_JOINT_PLANAR && (kind != PERP_JOINT_HINGE || d == 2)) return;
  int rows = slider ? d - 1 : 2, first = m - rows -
                                         (kind == PERP_JOINT_WHEEL || kind == PERP_JOINT_PLANAR) -
                                         2 * (kind == PERP_JOINT_CYLINDRICAL);
  for (int e = 0; e < d; e++) {
    memcpy(q, perp_model_q0(model), (size_t)nq * sizeof *q);
    pose A = pose_at(model, q, a);
    double world[3];
    for (int i = 0; i < 3; i++) world[i] = creal(A.R[i][e]); /* e_e of body a */
    if (slider) {
      /* displacement: initially along the axis, which adds nothing */
      int mover = b >= 0 ? b : a;
      for (int i = 0; i < d; i++) q[mover * (d == 3 ? 7 : 3) + i] += b >= 0 ? world[i] : -world[i];
      perp_model_error(model, 0, q, C);
      for (int k = 0; k < rows; k++) t->n[k][e] = C[first + k];
    } else {
      /* turn whichever body may move so that axis_b, seen from a, becomes e_e: rotation about
       * s = u x e by the angle between */
      const double *quat = NULL;
      double u[3], s[3], c = 0, half[4], n2 = 0;
      pose B = pose_at(model, q, b);
      for (int i = 0; i < 3; i++) {
        u[i] = 0;
        for (int j = 0; j < 3; j++) u[i] += creal(B.R[i][j]) * t->def.axis_b[j];
        n2 += u[i] * u[i];
      }
      for (int i = 0; i < 3; i++) u[i] /= sqrt(n2), c += u[i] * world[i];
      for (int i = 0; i < 3; i++)
        s[i] = u[(i + 1) % 3] * world[(i + 2) % 3] - u[(i + 2) % 3] * world[(i + 1) % 3];
      half[0] = sqrt((1 + c) / 2);
      for (int i = 0; i < 3; i++) half[1 + i] = s[i] / (2 * half[0]) * (b >= 0 ? 1 : -1);
      int mover = b >= 0 ? b : a;
      quat = q + 7 * mover + 3;
      memcpy(back, quat, 4 * sizeof *back);
      double *o = q + 7 * mover + 3; /* half * quat: turns in the world frame */
      o[0] = half[0] * back[0] - half[1] * back[1] - half[2] * back[2] - half[3] * back[3];
      o[1] = half[0] * back[1] + half[1] * back[0] + half[2] * back[3] - half[3] * back[2];
      o[2] = half[0] * back[2] - half[1] * back[3] + half[2] * back[0] + half[3] * back[1];
      o[3] = half[0] * back[3] + half[1] * back[2] - half[2] * back[1] + half[3] * back[0];
      perp_model_error(model, 0, q, C);
      for (int k = 0; k < rows; k++) t->n[k][e] = C[first + k];
    }
  }
  double worst = 0;
  for (int k = 0; k < rows; k++) {
    double along = 0, length = 0, other = 0;
    for (int i = 0; i < d; i++) {
      along += t->n[k][i] * t->def.axis_a[i];
      length += t->n[k][i] * t->n[k][i];
      other += t->n[0][i] * t->n[rows - 1][i];
    }
    worst = fmax(worst, fmax(fabs(along), fabs(length - 1)));
    if (rows == 2) worst = fmax(worst, fabs(other));
  }
  below(worst, 1e-13, "  its directions are orthonormal and perpendicular to axis_a");
}

/* ---- the checks ---- */

static void dense_J(const perp_model *model, const perp_blocks *B, double J[6][12])
{
  int nv = perp_model_nv(model), m = perp_model_m(model);
  for (int k = 0; k < nv; k++) {
    double e[12] = { 0 }, y[6] = { 0 };
    e[k] = 1;
    perp_blocks_J(B, 1, e, y);
    for (int i = 0; i < m; i++) J[i][k] = y[i];
  }
}

static int twin_error(const twin *t, const pose P[2], cplx s, const double *dq, cplx *C)
{
  int nvb = t->d == 3 ? 6 : 3;
  pose fixed = { { 0 }, { { 0 } } }, now[2];
  for (int i = 0; i < 3; i++) fixed.R[i][i] = 1;
  for (int b = 0; b < 2; b++) now[b] = moved(t->d, &P[b], s, dq + nvb * b);
  return error_of(t, t->def.a < 0 ? &fixed : &now[t->def.a], t->def.b < 0 ? &fixed : &now[t->def.b],
                  C);
}

static void check(int d, perp_joint_kind kind, const char *name, int a, int b)
{
  twin t;
  perp_model *model = random_joint(d, kind, a, b, &t);
  int nq = perp_model_nq(model), nv = perp_model_nv(model), m = perp_model_m(model), rows;
  ok(perp_model_joint_row(model, 0, &rows) == 0 && rows == m, "%s in %s, bodies %d and %d: %d rows",
     name, d == 3 ? "space" : "the plane", a, b, m);
  probe(model, &t);
  double q[14], v[12], dq[12], C[6], gamma[6], J[6][12], Jp[6][12], Jm[6][12], Cp[6], Cm[6];
  double eC = 0, eJ = 0, eG = 0, eFD = 0, eFJ = 0, zero[12] = { 0 };
  for (int trial = 0; trial < 5; trial++) {
    for (int i = 0; i < nv; i++) dq[i] = perp_rng_normal(rng), v[i] = perp_rng_normal(rng);
    /* the state need not satisfy the joint: all identities hold everywhere */
    perp_model_retract(model, perp_model_q0(model), dq, q);
    pose P[2] = { pose_at(model, q, 0), pose_at(model, q, 1) };
    perp_model_error(model, 0, q, C);
    dense_J(model, perp_model_assemble(model, 0, q), J);
    perp_model_jdotv(model, 0, q, v, gamma);

    cplx Z[6];
    if (twin_error(&t, P, 0, zero, Z) != m) bail("%s: the test and the model differ in rows", name);
    for (int i = 0; i < m; i++) eC = fmax(eC, fabs(C[i] - creal(Z[i])));
    /* J e_k = Im C(q [+] i eps e_k) / eps: no cancellation, eps as small as one likes */
    for (int k = 0; k < nv; k++) {
      double e[12] = { 0 }, eps = 1e-40;
      e[k] = 1;
      twin_error(&t, P, complex_of(0, eps), e, Z);
      for (int i = 0; i < m; i++) eJ = fmax(eJ, fabs(J[i][k] - cimag(Z[i]) / eps));
    }
    /* along q [+] t v the acceleration is zero, so that C.. = Jdot v: central difference over 2
     * tau of the exact C., Richardson-extrapolated from 2 tau and tau to order 4 */
    double tau = 1e-3, eps = 1e-40, rate[4][6];
    for (int k = 0; k < 4; k++) {
      double s = (k < 2 ? 1 : 2) * (k % 2 == 0 ? tau : -tau);
      twin_error(&t, P, complex_of(s, eps), v, Z);
      for (int i = 0; i < m; i++) rate[k][i] = cimag(Z[i]) / eps;
    }
    for (int i = 0; i < m; i++) {
      double g = 4 * (rate[0][i] - rate[1][i]) / (2 * tau) - (rate[2][i] - rate[3][i]) / (4 * tau);
      eG = fmax(eG, fabs(gamma[i] - g / 3));
    }
    /* the library against itself, in real numbers: C differentiated along v is J v, J v is Jdot
     * v */
    double qp[14], qm[14], step[12];
    for (int i = 0; i < nv; i++) step[i] = 1e-5 * v[i];
    perp_model_retract(model, q, step, qp);
    for (int i = 0; i < nv; i++) step[i] = -step[i];
    perp_model_retract(model, q, step, qm);
    perp_model_error(model, 0, qp, Cp);
    perp_model_error(model, 0, qm, Cm);
    dense_J(model, perp_model_assemble(model, 0, qp), Jp);
    dense_J(model, perp_model_assemble(model, 0, qm), Jm);
    for (int i = 0; i < m; i++) {
      double Jv = 0, g = 0;
      for (int k = 0; k < nv; k++) Jv += J[i][k] * v[k], g += (Jp[i][k] - Jm[i][k]) / 2e-5 * v[k];
      eFD = fmax(eFD, fabs((Cp[i] - Cm[i]) / 2e-5 - Jv));
      eFJ = fmax(eFJ, fabs(g - gamma[i]));
    }
  }
  (void)nq;
  /* quantities up to about 100 here */
  below(eC, 1e-13, "  C");
  below(eJ, 1e-13, "  J by the complex step");
  below(eG, 1e-8, "  Jdot v: tau^4 and rounding / tau");
  below(eFD, 1e-7, "  J v by central differences of C: 1e-10 from the step, rounding / step");
  below(eFJ, 1e-7, "  Jdot v by central differences of J");
  perp_model_destroy(model);
}

int main(void)
{
  static const struct {
    perp_joint_kind kind;
    const char *name;
    bool plane;
  } kinds[] = { { PERP_JOINT_BALL, "ball", true },
                { PERP_JOINT_HINGE, "hinge", true },
                { PERP_JOINT_UNIVERSAL, "universal", false },
                { PERP_JOINT_SLIDER, "slider", true },
                { PERP_JOINT_FIXED, "fixed", true },
                { PERP_JOINT_DISTANCE, "distance", true },
                { PERP_JOINT_LINE, "line", true },
                { PERP_JOINT_WHEEL, "wheel", false } };
  static const int ends[][2] = { { 0, 1 }, { 1, 0 }, { PERP_WORLD, 0 }, { 1, PERP_WORLD } };
  perp_ctx_init(&ctx);
  rng = perp_rng_create(3);
  for (int d = 3; d >= 2; d--)
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
      for (int e = 0; e < 4 && (d == 3 || kinds[k].plane); e++)
        check(d, kinds[k].kind, kinds[k].name, ends[e][0], ends[e][1]);
  for (int e = 0; e < 4; e++) {
    check(3, PERP_JOINT_PLANAR, "planar", ends[e][0], ends[e][1]);
    check(3, PERP_JOINT_CYLINDRICAL, "cylindrical", ends[e][0], ends[e][1]);
  }
  perp_rng_destroy(rng);
  return tap_done();
}
