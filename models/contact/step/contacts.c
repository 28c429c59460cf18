/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What formulations with contacts share: options, what goes together, reach of bodies, islands. */
#include "models/contact/step/contacts.h"

#include "models/contact/step/islands.h"

const char *const perp_align_names[] = { "none", "slip", NULL };
const char *const perp_choice_names[] = { "least-norm", "previous", "solver", "none", NULL };
const char *const perp_relax_names[] = { "auto", "no", "yes", NULL };
const char *const perp_gyro_names[] = { "implicit", "explicit", "none", NULL };
const char *const perp_servo_names[] = { "implicit", "symplectic", NULL };
const char *const perp_joints_names[] = { "auto", "eliminate", "rows", NULL };

/* ---- what options say ---- */

/* A law that lets contacts part where they slide (contact.h) needs the gap to bring them back. */
static perp_status contacts_check_relaxed(perp_ctx *ctx, const perp_contact_opts *opts,
                                          const perp_desc *law)
{
  if (!(law->caps & PERP_CONTACT_RELAXED)) return PERP_OK;
  if (!opts->gap)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s needs gap=true: without the gap a sliding contact separates at mu "
                     "|u_t| in each step; use --contact polyhedral with gap=false",
                     law->name);
  if (opts->impact == PERP_IMPACT_POISSON)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s does not define least normal impulses, which impact=poisson "
                     "requires; use impact=newton with it, or --contact polyhedral",
                     law->name);
  if (opts->frequency > 0 || perp_contacts_relaxes(opts) || opts->substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact %s needs the gap in each solve, but substeps, frequency and relax "
                     "also solve without it; use --contact polyhedral with them",
                     law->name);
  return PERP_OK;
}

/* options that do not go together */
static perp_status contacts_check_together(perp_ctx *ctx, const perp_contact_opts *opts,
                                           const perp_parts *parts)
{
  const bool springs = opts->stiffness > 0 || opts->damping > 0,
             second = opts->frequency > 0 || perp_contacts_relaxes(opts);
  if (springs && opts->softness > 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "softness = %g 1/kg and stiffness = %g N/m, damping = %g N s/m exclude each "
                     "other: leave out one of them",
                     opts->softness, opts->stiffness, opts->damping);
  if (opts->frequency > 0 && (springs || opts->softness > 0))
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "frequency = %g Hz and softness = %g 1/kg, stiffness = %g N/m, damping = %g N "
                     "s/m exclude each other: leave out one of them",
                     opts->frequency, opts->softness, opts->stiffness, opts->damping);
  if (springs && opts->relax == PERP_RELAX_YES)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "relax removes the velocity that contact springs (stiffness, damping) "
                     "produce: use frequency and damping_ratio instead of them");
  PERP_TRY(perp_impact_check(ctx, opts->impact, opts->tangential));
  if (opts->impact != PERP_IMPACT_NEWTON && (second || opts->substeps > 1))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impact=%s needs the impulses of compression of a single solve: use "
                     "impact=newton with substeps, frequency and relax",
                     perp_impact_names[opts->impact]);
  if (perp_impact_single(opts->impact) && opts->softness > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impact=%s is a law of rigid contacts, softness = %g 1/kg makes them "
                     "compliant: leave out one of them",
                     perp_impact_names[opts->impact], opts->softness);
  if (opts->sleep && opts->substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "substeps = %d and sleep exclude each other: bodies wake by contacts found at "
                     "the start of a step; leave out one of them",
                     opts->substeps);
  if (second && !(parts->ode.d->caps & PERP_ODE_SYMPLECTIC))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "frequency and relax need an ODE method that moves positions with the new "
                     "velocity: '%s' does not; use --ode symplectic-euler",
                     parts->ode.d->name);
  return PERP_OK;
}

/* Do halvings go with the other options?  Not contacts whose depth is their load, steps that cannot
 * be made again, or whose length the ODE method chooses. */
static perp_status contacts_check_halvings(perp_ctx *ctx, const perp_contact_opts *opts,
                                           const perp_parts *parts)
{
  if (opts->halvings == 0) return PERP_OK;
  if (opts->stiffness > 0 || opts->damping > 0 || opts->softness > 0 || opts->frequency > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "halvings = %d needs rigid contacts: compliant ones (softness, stiffness, "
                     "damping, frequency) penetrate under load; leave out one of them",
                     opts->halvings);
  if (opts->sleep || opts->substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "halvings = %d repeats whole steps: leave out sleep and substeps, or halvings",
                     opts->halvings);
  if (opts->closed > 0 || perp_ode_tol(&parts->ode) > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "halvings = %d and an error tolerance (tol) both choose the step: leave out "
                     "one of them",
                     opts->halvings);
  return PERP_OK;
}

perp_status perp_contacts_check(perp_ctx *ctx, const perp_model *model,
                                const perp_contact_opts *opts, const perp_parts *parts)
{
  PERP_TRY(contacts_check_together(ctx, opts, parts));
  PERP_TRY(contacts_check_halvings(ctx, opts, parts));
  if (opts->sleep && model->surfaces.belts)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "sleep does not support moving surfaces: sleeping bodies would not be carried "
                     "along; leave it out");
  return contacts_check_relaxed(ctx, opts, parts->contact.d);
}

/* ---- models and their parts ---- */

static double reach_of(const perp_shape_def *shape, int dim)
{
  double offset = sqrt(perp_dot(dim, shape->x, shape->x)), most = 0;
  switch (shape->kind) {
  case PERP_SHAPE_SPHERE:
    return offset + shape->radius;
  case PERP_SHAPE_CAPSULE:
    return offset + shape->radius + 0.5 * shape->length;
  case PERP_SHAPE_CYLINDER:
    return offset + hypot(shape->radius, 0.5 * shape->length);
  case PERP_SHAPE_CONE:
    return offset + fmax(hypot(shape->radius, 0.25 * shape->length), 0.75 * shape->length);
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_ELLIPSOID:
    return offset + sqrt(perp_dot(dim, shape->half, shape->half));
  case PERP_SHAPE_POLYTOPE:
    for (int i = 0; i < shape->n_vertices; i++)
      most = fmax(most, perp_dot(dim, shape->vertices + dim * i, shape->vertices + dim * i));
    return offset + sqrt(most);
  case PERP_SHAPE_MESH: /* of the world */
  case PERP_SHAPE_HEIGHT_FIELD:
  case PERP_SHAPE_PLANE:
    break;
  }
  return offset;
}

void perp_contacts_reach(const perp_model *model, double *reach)
{
  for (int b = 0; b < model->n_bodies; b++) reach[b] = 0;
  for (int i = 0; i < model->n_shapes; i++) {
    const perp_shape_def *s = &model->shape_def[i];
    if (s->body >= 0) reach[s->body] = fmax(reach[s->body], reach_of(s, model->dim));
  }
}

perp_status perp_contacts_islands(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                  const perp_contact_setup *setup, int threads, bool rows,
                                  perp_islands **out)
{
  const perp_contact_desc *kind = (const perp_contact_desc *)parts->contact.d;
  const perp_desc *lcp = parts->lcp.d;
  perp_contact_setup full = *setup;
  full.dim = model->dim;
  full.lcp = &parts->lcp;
  *out = NULL;
  PERP_TRY(perp_lcp_unstructured(ctx, lcp, "contacts"));
  if (rows && model->n_joints > 0 && !(lcp->caps & PERP_LCP_FREE))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "joints as rows need an LCP solver for free rows: '%s' does not support them; "
                     "use joints=eliminate with it, or --lcp dantzig",
                     lcp->name);
  PERP_TRY(kind->fits(ctx, parts->contact.opts, model->dim, lcp));
  return perp_islands_create(ctx, model, kind, parts->contact.opts, &full, threads, rows, out);
}
