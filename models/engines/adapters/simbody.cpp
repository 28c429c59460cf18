/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simbody.  Bodies have their own frames; each tree of joints hangs from the ground, its mobilizers' frames lie as the axes
 * of the joint want it at the start; balls, hinges and fixed joints that close loops are constraints. */
#include "models/engines/adapters/tree.hpp"
#include "models/engines/options.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include <Simbody.h>

namespace {

using namespace SimTK;

/* Of limits, s/m; error of loops and quaternions above which a state is projected; internal steps
 * in one of h. */
constexpr double STOP_DISSIPATION = 1, CONSTRAINT_TOLERANCE = 1e-4;
constexpr int STEPS_MOST = 100000;

struct simbody_world {
  const perp_engine_world *w;
  perp_engine_simbody_opts o;
  engine_tree tree;
  MultibodySystem system;
  SimbodyMatterSubsystem matter;
  GeneralForceSubsystem forces;
  ContactTrackerSubsystem tracker;
  CompliantContactSubsystem contacts;
  Force::Gravity gravity;
  std::vector<MobilizedBody> body;
  std::unique_ptr<Integrator> integrator;
  std::string failed; /* at the start, which no status can tell */

  simbody_world(const perp_engine_world *from, const perp_engine_simbody_opts *opts)
      : w(from), o(*opts), tree(*from), matter(system), forces(system), tracker(system),
        contacts(system, tracker), gravity(forces, matter, UnitVec3(0, 0, -1), from->gravity)
  {
    forces.setNumberOfThreads(1);
    contacts.setTransitionVelocity(o.transition);
  }
  MobilizedBody &mobod(int b) { return b < 0 ? matter.updGround() : body[b]; }
};

const char *simbody_version()
{
  static char text[32];
  int major, minor, patch;
  SimTK_version_simbody(&major, &minor, &patch);
  std::snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
  return text;
}

/* What was thrown, in one line. */
std::string words(const std::exception &e)
{
  std::string text = e.what();
  for (char &c : text)
    if (c == '\n') c = ' ';
  return text;
}

Vec3 vector(const double v[3])
{
  return Vec3(v[0], v[1], v[2]);
}

Transform pose(const double x[3], const double q[4])
{
  return Transform(Rotation(Quaternion(q[0], q[1], q[2], q[3])), vector(x));
}

/* of body b, or of the world */
Transform pose_of(int b, const perp_engine_state *state)
{
  return b < 0 ? Transform() : pose(state[b].x, state[b].quat);
}

Transform start_of(const simbody_world &s, int b)
{
  return b < 0 ? Transform() : pose(s.w->body[b].start.x, s.w->body[b].start.quat);
}

/* ---- shapes ------------------------------------------------------------------------------------ */

/* The friction that all materials get: Simbody takes 2 mu_a mu_b / (mu_a + mu_b), so that pairs can be as perp has them
 * only where all that may touch are alike. */
perp_status friction_find(perp_ctx *ctx, const simbody_world &s, double *mu)
{
  const perp_engine_world &w = *s.w;
  bool any = false;
  *mu = 0;
  for (int i = 0; i < w.n_shapes; i++)
    for (int k = 0; k < i; k++) {
      if (!w.touches(&w, k, i)) continue;
      const double pair = w.pair(&w, k, i).mu;
      if (any && pair != *mu)
        return w.fail(
            ctx, PERP_ERR_UNSUPPORTED,
            "engine simbody supports one friction for all pairs of shapes that may touch");
      any = true;
      *mu = pair;
      const perp_shape_kind a = w.shape[i].def->kind, b = w.shape[k].def->kind;
      const bool box = a == PERP_SHAPE_BOX || b == PERP_SHAPE_BOX,
                 plane = a == PERP_SHAPE_PLANE || b == PERP_SHAPE_PLANE,
                 ellipsoid = a == PERP_SHAPE_ELLIPSOID || b == PERP_SHAPE_ELLIPSOID;
      if (box && !plane && s.o.boxes == 0)
        return w.fail(ctx, PERP_ERR_UNSUPPORTED,
                      "engine simbody with boxes=brick supports contacts of boxes with half-spaces "
                      "only: use boxes=mesh (all but ellipsoids)");
      if (box && ellipsoid)
        return w.fail(ctx, PERP_ERR_UNSUPPORTED,
                      "engine simbody does not support contacts of a box with an ellipsoid");
    }
  return PERP_OK;
}

ContactGeometry geometry_of(const simbody_world &s, const perp_shape_def &d)
{
  switch (d.kind) {
  case PERP_SHAPE_SPHERE:
    return ContactGeometry::Sphere(d.radius);
  case PERP_SHAPE_ELLIPSOID:
    return ContactGeometry::Ellipsoid(vector(d.half));
  case PERP_SHAPE_PLANE:
    return ContactGeometry::HalfSpace();
  default:
    if (s.o.boxes == 0) return ContactGeometry::Brick(vector(d.half));
    return ContactGeometry::TriangleMesh(
        PolygonalMesh::createBrickMesh(vector(d.half), s.o.resolution));
  }
}

perp_status shapes_add(perp_ctx *ctx, simbody_world &s)
{
  const perp_engine_world &w = *s.w;
  double mu;
  PERP_TRY(friction_find(ctx, s, &mu));
  const ContactMaterial material(s.o.stiffness, s.o.dissipation, mu, mu);
  std::vector<ContactSurface> surface;
  for (int i = 0; i < w.n_shapes; i++) {
    surface.emplace_back(geometry_of(s, *w.shape[i].def), material, s.o.thickness);
    surface[i].setUserRef(reinterpret_cast<void *>(static_cast<intptr_t>(i)));
  }
  for (int i = 0; i < w.n_shapes; i++) /* those of a clique do not touch */
    for (int k = 0; k < i; k++) {
      if (w.touches(&w, k, i)) continue;
      const ContactCliqueId clique = ContactSurface::createNewContactClique();
      surface[i].joinClique(clique);
      surface[k].joinClique(clique);
    }
  for (int i = 0; i < w.n_shapes; i++) {
    const perp_engine_shape &shape = w.shape[i];
    Transform lie = pose(shape.x, shape.quat);
    if (shape.def->kind == PERP_SHAPE_PLANE) /* Simbody's is x > 0 */
      lie = Transform(lie.R() * Rotation(Pi / 2, YAxis), lie.p());
    s.mobod(shape.def->body).updBody().addContactSurface(lie, surface[i]);
  }
  return PERP_OK;
}

/* ---- bodies and joints ------------------------------------------------------------------------- */

/* Frame of a joint in the world at the start, with the axes of Simbody's mobilizer. */
Transform frame_of(const engine_link &l)
{
  const UnitVec3 along(l.sign * vector(l.j->along)), across(l.sign * vector(l.j->across));
  const Vec3 at = vector(l.j->at);
  switch (l.j->kind) {
  case PERP_JOINT_SLIDER:
    return Transform(Rotation(along, XAxis), at);
  case PERP_JOINT_UNIVERSAL: /* x is fixed in the parent, y in the child */
    return Transform(l.sign > 0 ? Rotation(along, XAxis, across, YAxis)
                                : Rotation(across, XAxis, along, YAxis),
                     at);
  case PERP_JOINT_HINGE:
  case PERP_JOINT_CYLINDRICAL:
  case PERP_JOINT_PLANAR:
    return Transform(Rotation(along, ZAxis), at);
  default:
    return Transform(at);
  }
}

MobilizedBody joint_of(simbody_world &s, int b, const Body &made)
{
  if (s.tree.joint[b] < 0) return MobilizedBody::Free(s.matter.updGround(), made);
  const engine_link l = s.tree.link(*s.w, b);
  const Transform at = frame_of(l), in_parent = ~start_of(s, l.parent) * at,
                  in_child = ~start_of(s, b) * at;
  MobilizedBody &parent = s.mobod(l.parent);
  switch (l.j->kind) {
  case PERP_JOINT_BALL:
    return MobilizedBody::Ball(parent, in_parent, made, in_child);
  case PERP_JOINT_HINGE:
    return MobilizedBody::Pin(parent, in_parent, made, in_child);
  case PERP_JOINT_SLIDER:
    return MobilizedBody::Slider(parent, in_parent, made, in_child);
  case PERP_JOINT_UNIVERSAL:
    return MobilizedBody::Universal(parent, in_parent, made, in_child);
  case PERP_JOINT_CYLINDRICAL:
    return MobilizedBody::Cylinder(parent, in_parent, made, in_child);
  case PERP_JOINT_PLANAR:
    return MobilizedBody::Planar(parent, in_parent, made, in_child);
  default:
    return MobilizedBody::Weld(parent, in_parent, made, in_child);
  }
}

perp_status drives_add(perp_ctx *ctx, simbody_world &s, int b)
{
  const engine_link l = s.tree.link(*s.w, b);
  for (int k = 0; k < l.j->n_drives; k++) {
    const perp_engine_drive &d = s.w->drive[l.j->first_drive + k];
    const bool limited = std::isfinite(d.lower) || std::isfinite(d.upper);
    if ((l.j->kind != PERP_JOINT_HINGE && l.j->kind != PERP_JOINT_SLIDER) || d.restitution > 0)
      return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                       "the adapter of engine simbody supports limits without restitution and "
                       "motors, of hinges and sliders only");
    if (d.max_force > 0 && (std::isfinite(d.max_force) || limited))
      return s.w->fail(
          ctx, PERP_ERR_UNSUPPORTED,
          "engine simbody supports motors of unlimited force only, on joints without limits");
    if (d.max_force > 0) Motion::Steady(s.body[b], d.velocity);
    if (limited)
      Force::MobilityLinearStop(s.forces, s.body[b], MobilizerQIndex(0), s.o.stop_stiffness,
                                STOP_DISSIPATION, d.lower, d.upper);
  }
  return PERP_OK;
}

perp_status bodies_add(perp_ctx *ctx, simbody_world &s)
{
  s.body.resize(s.w->n_bodies);
  for (const int b : s.tree.order) {
    const perp_engine_body &d = s.w->body[b];
    const double *I = d.inertia;
    s.body[b] = joint_of(
        s, b,
        Body::Rigid(MassProperties(d.mass, Vec3(0),
                                   Inertia(Vec3(I[0], I[4], I[8]), Vec3(I[1], I[2], I[5])))));
    if (vector(d.force).norm() > 0)
      Force::ConstantForce(s.forces, s.body[b], Vec3(0), vector(d.force));
    if (s.tree.joint[b] >= 0) PERP_TRY(drives_add(ctx, s, b));
  }
  return PERP_OK;
}

perp_status loops_add(perp_ctx *ctx, simbody_world &s)
{
  for (const int i : s.tree.loops) {
    const perp_engine_joint &j = s.w->joint[i];
    MobilizedBody &a = s.mobod(j.a), &b = s.mobod(j.b);
    const Vec3 in_a = vector(j.anchor_a), in_b = vector(j.anchor_b);
    const bool hinge = j.kind == PERP_JOINT_HINGE;
    if ((!hinge && j.kind != PERP_JOINT_BALL && j.kind != PERP_JOINT_FIXED) || j.n_drives > 0)
      return s.w->fail(ctx, PERP_ERR_UNSUPPORTED,
                       "the adapter of engine simbody supports loops closed by ball joints, hinges "
                       "and fixed joints without actuators");
    if (j.kind == PERP_JOINT_FIXED) {
      const Transform at(vector(j.at));
      Constraint::Weld(a, ~start_of(s, j.a) * at, b, ~start_of(s, j.b) * at);
      continue;
    }
    Constraint::Ball(a, in_a, b, in_b);
    if (!hinge) continue;
    const UnitVec3 across = UnitVec3(vector(j.axis_a)).perp(),
                   third(vector(j.axis_a) % Vec3(across)), axis(vector(j.axis_b));
    Constraint::ConstantAngle(a, across, b, axis, Pi / 2);
    Constraint::ConstantAngle(a, third, b, axis, Pi / 2);
  }
  return PERP_OK;
}

/* ---- states ------------------------------------------------------------------------------------ */

void state_set(simbody_world &s, const perp_engine_state *state)
{
  State y = s.system.getDefaultState();
  for (const int b : s.tree.order) {
    const Transform in_parent = s.body[b].getDefaultInboardFrame(),
                    in_child = s.body[b].getDefaultOutboardFrame();
    s.body[b].setQToFitTransform(y, ~(pose_of(s.tree.parent[b], state) * in_parent) *
                                        pose_of(b, state) * in_child);
  }
  s.system.realize(y, Stage::Position);
  for (const int b : s.tree.order) {
    const int p = s.tree.parent[b];
    const Transform from = pose_of(p, state) * s.body[b].getDefaultInboardFrame();
    const Vec3 arm = pose_of(b, state).R() * s.body[b].getDefaultOutboardFrame().p();
    Vec3 w = vector(state[b].w), v = vector(state[b].v) + w % arm;
    if (p >= 0) { /* as seen from the parent */
      v -= vector(state[p].v) +
           vector(state[p].w) % (vector(state[b].x) + arm - vector(state[p].x));
      w -= vector(state[p].w);
    }
    s.body[b].setUToFitVelocity(y, SpatialVec(~from.R() * w, ~from.R() * v));
  }
  s.system.realize(y, Stage::Velocity);
  s.integrator->initialize(y);
}

void simbody_set(void *at, const perp_engine_state *state)
{
  auto &s = *static_cast<simbody_world *>(at);
  try {
    state_set(s, state);
  } catch (const std::exception &e) {
    s.failed = words(e);
  }
}

void simbody_get(void *at, perp_engine_state *state)
{
  const auto &s = *static_cast<simbody_world *>(at);
  const State &y = s.integrator->getState();
  s.system.realize(y, Stage::Velocity);
  for (int b = 0; b < s.w->n_bodies; b++) {
    const Transform &T = s.body[b].getBodyTransform(y);
    const Quaternion q = T.R().convertRotationToQuaternion();
    const SpatialVec &v = s.body[b].getBodyVelocity(y);
    for (int k = 0; k < 4; k++) state[b].quat[k] = q[k];
    for (int k = 0; k < 3; k++) {
      state[b].x[k] = T.p()[k];
      state[b].w[k] = v[0][k];
      state[b].v[k] = v[1][k];
    }
  }
}

/* ---- building and marching --------------------------------------------------------------------- */

void simbody_destroy(void *at)
{
  delete static_cast<simbody_world *>(at);
}

Integrator *integrator_of(const simbody_world &s)
{
  switch (s.o.integrator) {
  case 0:
    return new RungeKuttaMersonIntegrator(s.system);
  case 1:
    return new RungeKutta3Integrator(s.system);
  case 2:
    return new RungeKutta2Integrator(s.system);
  case 3:
    return new VerletIntegrator(s.system);
  case 4:
    return new SemiExplicitEuler2Integrator(s.system);
  default:
    return new SemiExplicitEulerIntegrator(s.system, s.w->h);
  }
}

void integrator_make(simbody_world &s)
{
  s.integrator.reset(integrator_of(s));
  Integrator &i = *s.integrator;
  if (s.o.accuracy > 0) {
    i.setAccuracy(s.o.accuracy);
    i.setMaximumStepSize(s.w->h);
  } else {
    i.setFixedStepSize(s.w->h);
  }
  i.setConstraintTolerance(CONSTRAINT_TOLERANCE);
  i.setAllowInterpolation(false); /* a step ends where perp's does */
  i.setInternalStepLimit(STEPS_MOST);
}

perp_status simbody_create(perp_ctx *ctx, const perp_engine_world *w, const void *opts, void **at)
{
  *at = nullptr;
  try {
    auto s = std::make_unique<simbody_world>(w,
                                             static_cast<const perp_engine_simbody_opts *>(opts));
    PERP_TRY(bodies_add(ctx, *s));
    PERP_TRY(shapes_add(ctx, *s));
    PERP_TRY(loops_add(ctx, *s));
    s->system.realizeTopology();
    integrator_make(*s);
    *at = s.release();
  } catch (const std::bad_alloc &) {
    return w->fail(ctx, PERP_ERR_NOMEM, "no memory for a world of Simbody");
  } catch (const std::exception &e) {
    return w->fail(ctx, PERP_ERR_EXTERNAL, words(e).c_str());
  }
  return PERP_OK;
}

perp_status simbody_step(perp_ctx *ctx, void *at, double h)
{
  auto &s = *static_cast<simbody_world *>(at);
  if (!s.failed.empty()) return s.w->fail(ctx, PERP_ERR_EXTERNAL, s.failed.c_str());
  try {
    const double end = s.integrator->getTime() + h;
    Integrator::SuccessfulStepStatus ended;
    do ended = s.integrator->stepTo(end);
    while (ended == Integrator::StartOfContinuousInterval || ended == Integrator::TimeHasAdvanced);
    if (ended != Integrator::ReachedReportTime)
      return s.w->fail(ctx, PERP_ERR_EXTERNAL,
                       ("Simbody's integrator within one step: " +
                        std::string(Integrator::getSuccessfulStepStatusString(ended)))
                           .c_str());
    s.system.realize(s.integrator->getState(), Stage::Dynamics); /* throws of bad numbers */
  } catch (const std::exception &e) {
    return s.w->fail(ctx, PERP_ERR_EXTERNAL, words(e).c_str());
  }
  return PERP_OK;
}

/* Explicit forces and projections: an integrator that cannot go on throws, no solver ends unsolved. */
perp_reason simbody_ended(void *, int *iterations)
{
  *iterations = 0;
  return PERP_RUNNING;
}

int simbody_contacts(void *at, perp_engine_contact *contact, int most)
{
  const auto &s = *static_cast<simbody_world *>(at);
  const State &y = s.integrator->getState();
  s.system.realize(y, Stage::Velocity);
  const ContactSnapshot &now = s.tracker.getActiveContacts(y);
  const auto shape_of = [&](ContactSurfaceIndex i) {
    return static_cast<int>(
        reinterpret_cast<intptr_t>(s.tracker.getContactSurface(i).getUserRef()));
  };
  int n = 0;
  ContactPatch patch;
  for (int i = 0; i < s.contacts.getNumContactForces(y); i++) {
    const ContactId id = s.contacts.getContactForce(y, i).getContactId();
    if (!s.contacts.calcContactPatchDetailsById(y, id, patch)) continue;
    const Contact &c = now.getContactById(id);
    const int a = shape_of(c.getSurface1()), b = shape_of(c.getSurface2()), sign = a < b ? 1 : -1;
    for (int k = 0; k < patch.getNumDetails() && n < most; k++) {
      const ContactDetail &d = patch.getContactDetail(k);
      perp_engine_contact &to = contact[n++];
      to.shape_a = std::min(a, b);
      to.shape_b = std::max(a, b);
      to.gap = -d.getDeformation();
      for (int e = 0; e < 3; e++) {
        to.p[e] = d.getContactPoint()[e];
        to.n[e] = sign * d.getContactNormal()[e];
        to.impulse[e] = sign * d.getForceOnSurface2()[e] * s.w->h;
      }
    }
  }
  return n;
}

/* without what is stored in contacts and stops */
double simbody_energy(void *at)
{
  const auto &s = *static_cast<simbody_world *>(at);
  const State &y = s.integrator->getState();
  s.system.realize(y, Stage::Velocity);
  return s.matter.calcKineticEnergy(y) + s.gravity.getPotentialEnergy(y);
}

void simbody_resolved(void *at, char *text, size_t size)
{
  const auto &s = *static_cast<simbody_world *>(at);
  const Integrator &i = *s.integrator;
  char step[64];
  if (s.o.accuracy > 0 && i.methodHasErrorControl())
    std::snprintf(step, sizeof step, "accuracy=%g", i.getAccuracyInUse());
  else
    std::snprintf(step, sizeof step, "fixed step");
  std::snprintf(text, size,
                "integrator=%s, %s, constraint_tolerance=%g, boxes=%s, stiffness=%g, "
                "dissipation=%g, thickness=%g, transition=%g, stop_stiffness=%g, "
                "stop_dissipation=%g",
                i.getMethodName(), step, i.getConstraintToleranceInUse(),
                s.o.boxes == 0 ? "brick" : "mesh", s.o.stiffness, s.o.dissipation, s.o.thickness,
                s.contacts.getTransitionVelocity(), s.o.stop_stiffness, STOP_DISSIPATION);
}

const perp_engine_calls calls =
    [] { /* C++17, as the headers of Simbody want it, has no designators */
         perp_engine_calls c{};
         c.abi = PERP_ABI;
         c.layout = PERP_ENGINE_LAYOUT;
         c.version = simbody_version;
         c.create = simbody_create;
         c.set = simbody_set;
         c.step = simbody_step;
         c.get = simbody_get;
         c.ended = simbody_ended;
         c.contacts = simbody_contacts;
         c.energy = simbody_energy;
         c.resolved = simbody_resolved;
         c.destroy = simbody_destroy;
         return c;
    }();

} // namespace

PERP_ENGINE_ADAPTER(calls);
