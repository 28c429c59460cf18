/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equality constraints, soft in MuJoCo and rigid here: connect is a ball joint, weld a fixed one.
 */
#include "experiments/import/mjcf_private.h"
#include "experiments/base/json.h"

#include <math.h>
#include <string.h>

enum { DATA = mjNEQDATA };

/* "connect 0 (link3, base)" */
static const char *loops_who(perp_mj *x, int e, const char *kind)
{
  const mjModel *m = x->m;
  const mjtObj type = m->eq_type[e] == mjEQ_JOINT    ? mjOBJ_JOINT
                      : m->eq_type[e] == mjEQ_TENDON ? mjOBJ_TENDON
                                                     : mjOBJ_BODY;
  const char *word = type == mjOBJ_JOINT ? "joint" : type == mjOBJ_TENDON ? "tendon" : "body";
  const int a = m->eq_obj1id[e], b = m->eq_obj2id[e];
  const char *name = mj_id2name(m, mjOBJ_EQUALITY, e);
  const char *who = name != NULL && name[0] != '\0'
                        ? perp_pool_printf(&x->pool, "%s %s", kind, name)
                        : perp_pool_printf(&x->pool, "%s %d", kind, e);
  if (b < 0) return perp_pool_printf(&x->pool, "%s (%s)", who, perp_mj_name(x, type, word, a));
  return perp_pool_printf(&x->pool, "%s (%s, %s)", who, perp_mj_name(x, type, word, a),
                          perp_mj_name(x, type, word, b));
}

/* World place of a point of a body of MuJoCo. */
static void loops_place(const perp_mj *x, int body, const double s[3], double p[3])
{
  mju_rotVecMat(p, s, x->d->xmat + 9 * body);
  for (int i = 0; i < 3; i++) p[i] += x->d->xpos[3 * body + i];
}

static void loops_one(perp_mj *x, int e, bool weld)
{
  const mjModel *m = x->m;
  const int a = m->eq_obj1id[e], b = m->eq_obj2id[e];
  const double *data = m->eq_data + DATA * e;
  const char *who = loops_who(x, e, weld ? "weld" : "connect");
  double pa[3], pb[3], sa[3], sb[3], off = 0, turned = 0;
  if (x->root[a] == x->root[b]) {
    perp_mj_note(
        x, "%s: both bodies are parts of one body or fixed, so that no constraint is needed", who);
    return;
  }
  /* connect has the point in body 1, then in body 2; weld the other way round, then the orientation
   */
  loops_place(x, a, weld ? data + 3 : data, pa);
  loops_place(x, b, weld ? data : data + 3, pb);
  for (int i = 0; i < 3; i++) off = fmax(off, fabs(pb[i] - pa[i]));
  if (weld) {
    double wanted[4], back[4], between[4];
    mju_mulQuat(wanted, x->d->xquat + 4 * a, data + 6);
    mju_negQuat(back, wanted);
    mju_mulQuat(between, back, x->d->xquat + 4 * b);
    turned = 2 * mju_norm3(between + 1);
  }
  if (turned > 1e-6) { /* a fixed joint keeps the orientation of the initial state */
    perp_mj_lost(
        x,
        "%s: a rotation of %.3g rad between the bodies; here they keep their initial orientation",
        who, turned);
  }
  perp_mj_local(x, a, true, pa, sa);
  perp_mj_local(x, b, true, pb, sb);
  fprintf(x->out, "  - { kind: %s, name: ", weld ? "fixed" : "ball");
  perp_write_quoted(x->out,
                    perp_mj_fresh(x, &x->joints, perp_pool_printf(&x->pool, "equality%d", e)));
  perp_mj_body(x, "a", a);
  perp_mj_body(x, "b", b);
  perp_mj_vector(x, "anchor_a", 3, sa);
  perp_mj_vector(x, "anchor_b", 3, sb);
  fputs(", collide: true", x->out);
  if (off > 1e-9) {
    fputs(", start: violates", x->out);
    perp_mj_note(x, "%s: open by %.3g m in the initial state", who, off);
  }
  fputs(" }\n", x->out);
  perp_mj_note(x, "%s: compliant in MuJoCo, a rigid %s joint here", who, weld ? "fixed" : "ball");
}

/* joint1 = polynomial of joint2 */
static void loops_joint(perp_mj *x, int e)
{
  const mjModel *m = x->m;
  const double *data = m->eq_data + DATA * e;
  const char *who = loops_who(x, e, "joint");
  if (m->eq_obj2id[e] < 0 && x->axis[m->eq_obj1id[e]].joint != NULL) {
    perp_mj_note(x, "%s: compliant in MuJoCo, limits in both directions here", who);
    return; /* mjcf_drives.c writes it */
  }
  perp_mj_lost(
      x, "equality %s: the first coordinate is %g %+g q %+g q^2 %+g q^3 %+g q^4 of the second", who,
      data[0], data[1], data[2], data[3], data[4]);
}

void perp_mj_loops(perp_mj *x)
{
  const mjModel *m = x->m;
  for (int e = 0; e < m->neq; e++) {
    const int type = m->eq_type[e];
    const char *kind = type == mjEQ_CONNECT ? "connect"
                       : type == mjEQ_WELD  ? "weld"
                       : type == mjEQ_JOINT ? "joint"
                                            : "tendon";
    if (!m->eq_active[e] || perp_mj_disabled(x, mjDSBL_EQUALITY | mjDSBL_CONSTRAINT))
      perp_mj_note(x, "%s is disabled", loops_who(x, e, kind));
    else if (type == mjEQ_CONNECT || type == mjEQ_WELD)
      loops_one(x, e, type == mjEQ_WELD);
    else if (type == mjEQ_JOINT)
      loops_joint(x, e);
    else
      perp_mj_lost(x, "equality %s: a constraint on the lengths of tendons", loops_who(x, e, kind));
  }
}
