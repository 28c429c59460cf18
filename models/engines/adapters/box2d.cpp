/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Box2D 2.4.  Everything is float there.  Pairs of shapes are those of perp (a contact filter), and so are their friction and
 * restitution (set when a contact begins). */
#include "models/engines/engine.h"
#include "models/engines/options.h"

#include <box2d/box2d.h>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

const float FAR_AWAY = 1000; /* of its size: how long the edge of a half-space is, m */

struct point {
  int a, b;
  b2Vec2 p, n, impulse;
  float gap;
};

struct box2d_world : b2ContactFilter, b2ContactListener {
  const perp_engine_world *w;
  perp_engine_box2d_opts o;
  b2World world;
  std::vector<b2Body *> body;
  std::vector<point> points;

  box2d_world(const perp_engine_world *from, const perp_engine_box2d_opts &opts)
      : w(from), o(opts), world(b2Vec2(0, float(-from->gravity)))
  {
    world.SetAllowSleeping(false);
    world.SetWarmStarting(o.warm);
    world.SetContactFilter(this);
    world.SetContactListener(this);
  }

  static int shape_of(b2Fixture *f) { return int(f->GetUserData().pointer); }

  bool ShouldCollide(b2Fixture *a, b2Fixture *b) override
  {
    return w->touches(w, shape_of(a), shape_of(b));
  }
  void BeginContact(b2Contact *c) override
  {
    const perp_surface s = w->pair(w, shape_of(c->GetFixtureA()), shape_of(c->GetFixtureB()));
    c->SetFriction(float(s.mu));
    c->SetRestitution(float(s.restitution));
    c->SetRestitutionThreshold(float(o.threshold));
  }
  void PostSolve(b2Contact *c, const b2ContactImpulse *impulse) override
  {
    b2WorldManifold m;
    c->GetWorldManifold(&m);
    const b2Vec2 along = b2Cross(m.normal, 1.0f);
    for (int i = 0; i < impulse->count; i++)
      points.push_back(
          { shape_of(c->GetFixtureA()), shape_of(c->GetFixtureB()), m.points[i], m.normal,
            impulse->normalImpulses[i] * m.normal + impulse->tangentImpulses[i] * along,
            m.separations[i] });
  }
};

b2Vec2 vec(const double *x)
{
  return b2Vec2(float(x[0]), float(x[1]));
}

/* ---- building ---------------------------------------------------------------------------------- */

void add_fixture(b2Body *body, int index, const b2Shape &shape)
{
  b2FixtureDef fixture;
  fixture.shape = &shape;
  fixture.density = 1;
  fixture.userData.pointer = uintptr_t(index);
  body->CreateFixture(&fixture);
}

perp_status add_shape(perp_ctx *ctx, const perp_engine_world *w, b2Body *body, int index)
{
  const perp_engine_shape &s = w->shape[index];
  const perp_shape_def *d = s.def;
  const b2Transform place(vec(s.x), b2Rot(float(s.angle)));
  if (d->kind == PERP_SHAPE_SPHERE) {
    b2CircleShape ball;
    ball.m_radius = float(d->radius);
    ball.m_p = place.p;
    add_fixture(body, index, ball);
  } else if (d->kind == PERP_SHAPE_PLANE) {
    b2EdgeShape edge; /* solid on the right of the way from the first to the second */
    const b2Vec2 along = float(FAR_AWAY * std::fmax(1, w->size)) * place.q.GetXAxis();
    edge.SetOneSided(place.p + 2 * along, place.p + along, place.p - along, place.p - 2 * along);
    add_fixture(body, index, edge);
  } else {
    b2PolygonShape polygon;
    b2Vec2 corner[b2_maxPolygonVertices];
    if (d->kind == PERP_SHAPE_BOX) {
      polygon.SetAsBox(float(d->half[0]), float(d->half[1]), place.p, float(s.angle));
    } else {
      if (d->n_vertices > b2_maxPolygonVertices)
        return w->fail(ctx, PERP_ERR_UNSUPPORTED,
                       "engine box2d supports polygons of at most 8 corners");
      for (int k = 0; k < d->n_vertices; k++) corner[k] = b2Mul(place, vec(d->vertices + 2 * k));
      polygon.Set(corner, d->n_vertices);
    }
    add_fixture(body, index, polygon);
  }
  return PERP_OK;
}

/* What limits and motors say, of a revolute or prismatic joint. */
template <typename Def> void set_limits(Def *def, const perp_engine_drive &d)
{
  def->enableLimit = std::isfinite(d.lower) || std::isfinite(d.upper);
  def->enableMotor = d.max_force > 0;
  def->motorSpeed = float(d.velocity);
}

perp_status add_joint(perp_ctx *ctx, box2d_world *s, b2Body *ground, int index)
{
  const perp_engine_world *w = s->w;
  const perp_engine_joint &j = w->joint[index];
  b2Body *a = j.a < 0 ? ground : s->body[j.a], *b = j.b < 0 ? ground : s->body[j.b];
  const float huge = 1e6f;
  for (int k = 0; k < j.n_drives; k++) {
    const perp_engine_drive &d = w->drive[j.first_drive + k];
    if (d.restitution > 0 || std::isinf(d.max_force))
      return w->fail(
          ctx, PERP_ERR_UNSUPPORTED,
          "engine box2d supports neither limits with restitution nor motors of unlimited force");
  }
  const perp_engine_drive *d = j.n_drives > 0 ? &w->drive[j.first_drive] : nullptr;
  if (j.kind == PERP_JOINT_BALL || j.kind == PERP_JOINT_HINGE) {
    b2RevoluteJointDef def;
    def.Initialize(a, b, vec(j.at));
    if (d != nullptr) {
      set_limits(&def, *d);
      def.maxMotorTorque = float(d->max_force);
      def.lowerAngle = float(std::fmax(d->lower, -huge));
      def.upperAngle = float(std::fmin(d->upper, huge));
    }
    s->world.CreateJoint(&def);
  } else if (j.kind == PERP_JOINT_SLIDER) {
    b2PrismaticJointDef def;
    def.Initialize(a, b, vec(j.at), vec(j.along));
    if (d != nullptr) {
      set_limits(&def, *d);
      def.maxMotorForce = float(d->max_force);
      def.lowerTranslation = float(std::fmax(d->lower, -huge));
      def.upperTranslation = float(std::fmin(d->upper, huge));
    }
    s->world.CreateJoint(&def);
  } else if (j.kind == PERP_JOINT_DISTANCE) {
    b2DistanceJointDef def;
    def.bodyA = a;
    def.bodyB = b;
    def.localAnchorA = vec(j.anchor_a);
    def.localAnchorB = vec(j.anchor_b);
    def.length = def.minLength = def.maxLength = float(j.length);
    s->world.CreateJoint(&def);
  } else {
    b2WeldJointDef def;
    def.Initialize(a, b, vec(j.at));
    s->world.CreateJoint(&def);
  }
  return PERP_OK;
}

perp_status box2d_create(perp_ctx *ctx, const perp_engine_world *w, const void *opts, void **at)
{
  box2d_world *s = new box2d_world(w, *static_cast<const perp_engine_box2d_opts *>(opts));
  b2BodyDef def;
  b2Body *ground = s->world.CreateBody(&def);
  perp_status status = PERP_OK;
  def.type = b2_dynamicBody;
  for (int i = 0; i < w->n_bodies; i++) {
    def.position = vec(w->body[i].start.x);
    def.angle = float(w->body[i].start.angle);
    s->body.push_back(s->world.CreateBody(&def));
  }
  for (int i = 0; i < w->n_shapes && status == PERP_OK; i++) {
    const int on = w->shape[i].def->body;
    status = add_shape(ctx, w, on < 0 ? ground : s->body[size_t(on)], i);
  }
  for (int i = 0; i < w->n_bodies; i++) {
    b2MassData mass;
    mass.mass = float(w->body[i].mass);
    mass.center.SetZero();
    mass.I = float(w->body[i].inertia[8]);
    if (!(mass.I > 0)) s->body[size_t(i)]->SetFixedRotation(true); /* a particle: it never turns */
    s->body[size_t(i)]->SetMassData(&mass);
  }
  for (int i = 0; i < w->n_joints && status == PERP_OK; i++) status = add_joint(ctx, s, ground, i);
  *at = s;
  if (status == PERP_OK) return PERP_OK;
  delete s;
  *at = nullptr;
  return status;
}

void box2d_destroy(void *at)
{
  delete static_cast<box2d_world *>(at);
}

/* ---- marching ---------------------------------------------------------------------------------- */

void box2d_set(void *at, const perp_engine_state *state)
{
  box2d_world *s = static_cast<box2d_world *>(at);
  for (b2Body *b : s->body) {
    b->SetTransform(vec(state->x), float(state->angle));
    b->SetLinearVelocity(vec(state->v));
    b->SetAngularVelocity(float(state->w[2]));
    state++;
  }
}

perp_status box2d_step(perp_ctx *, void *at, double h)
{
  box2d_world *s = static_cast<box2d_world *>(at);
  s->points.clear();
  for (size_t i = 0; i < s->body.size(); i++)
    s->body[i]->ApplyForceToCenter(vec(s->w->body[i].force), true); /* for one step */
  s->world.Step(float(h), s->o.velocity, s->o.position);
  return PERP_OK;
}

void box2d_get(void *at, perp_engine_state *state)
{
  for (b2Body *b : static_cast<box2d_world *>(at)->body) {
    state->x[0] = double(b->GetPosition().x);
    state->x[1] = double(b->GetPosition().y);
    state->angle = double(b->GetAngle());
    state->v[0] = double(b->GetLinearVelocity().x);
    state->v[1] = double(b->GetLinearVelocity().y);
    state->w[2] = double(b->GetAngularVelocity());
    state++;
  }
}

perp_reason box2d_ended(void *at, int *iterations)
{
  const box2d_world *s = static_cast<box2d_world *>(at);
  *iterations = s->o.velocity;
  return s->points.empty() && s->w->n_joints == 0 ? PERP_RUNNING : PERP_SWEEPS_DONE;
}

int box2d_contacts(void *at, perp_engine_contact *contact, int most)
{
  int n = 0;
  for (const point &p : static_cast<box2d_world *>(at)->points) {
    if (n == most) break;
    perp_engine_contact &c = contact[n++];
    const float sign = p.a < p.b ? 1.0f : -1.0f; /* its normal is from the first to the second */
    c = perp_engine_contact();
    c.shape_a = p.a < p.b ? p.a : p.b;
    c.shape_b = p.a < p.b ? p.b : p.a;
    c.gap = double(p.gap);
    for (int k = 0; k < 2; k++) {
      c.p[k] = double(p.p(k));
      c.n[k] = double(sign * p.n(k));
      c.impulse[k] = double(sign * p.impulse(k));
    }
  }
  return n;
}

void box2d_resolved(void *at, char *text, size_t size)
{
  const box2d_world *s = static_cast<box2d_world *>(at);
  std::snprintf(
      text, size,
      "velocity=%d, position=%d, warm=%s, slop=%g m, no restitution below %g m/s, continuous=%s",
      s->o.velocity, s->o.position, s->world.GetWarmStarting() ? "true" : "false",
      double(b2_linearSlop), s->o.threshold, s->world.GetContinuousPhysics() ? "true" : "false");
}

const char *box2d_version()
{
  static char text[32];
  std::snprintf(text, sizeof text, "%d.%d.%d", b2_version.major, b2_version.minor,
                b2_version.revision);
  return text;
}

const perp_engine_calls calls = { PERP_ABI,     PERP_ENGINE_LAYOUT, box2d_version,
                                  box2d_create, box2d_set,          box2d_step,
                                  box2d_get,    box2d_ended,        box2d_contacts,
                                  nullptr,      box2d_resolved,     box2d_destroy };

} // namespace

extern "C" {
PERP_ENGINE_ADAPTER(calls);
}
