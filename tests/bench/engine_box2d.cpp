/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Box2D 2.4: the plane, in floats. */
#include "tests/bench/engines.h"

#include <box2d/box2d.h>
#include <vector>

namespace {

enum { POSITION_SWEEPS = 3 }; /* as its manual recommends */
const float FAR_AWAY = 1000;

struct box2d_world {
  b2World world;
  int sweeps;
  std::vector<b2Body *> moving;
  explicit box2d_world(float g) : world(b2Vec2(0, -g)), sweeps(0) {}
};

void *box2d_create(const bench_world *w, int sweeps)
{
  box2d_world *at = new box2d_world(float(w->gravity));
  at->sweeps = sweeps;
  at->world.SetAllowSleeping(false);
  for (int i = 0; i < w->bodies; i++) {
    const bench_body &b = w->body[i];
    b2BodyDef def;
    def.type = b.fixed ? b2_staticBody : b2_dynamicBody;
    def.position.Set(float(b.x[0]), float(b.x[1]));
    def.angle = float(b.angle);
    def.linearVelocity.Set(float(b.v[0]), float(b.v[1]));
    def.angularVelocity = float(b.w[2]);
    b2Body *body = at->world.CreateBody(&def);
    b2PolygonShape box;
    b2CircleShape ball;
    b2EdgeShape edge;
    b2FixtureDef fixture;
    fixture.friction = float(w->mu);
    fixture.density = 1;
    if (b.kind == BENCH_PLANE) {
      const b2Vec2 along(float(b.normal[1]), -float(b.normal[0]));
      edge.SetTwoSided(-FAR_AWAY * along, FAR_AWAY * along);
      body->SetTransform(def.position, 0);
      fixture.shape = &edge;
    } else if (b.kind == BENCH_BALL) {
      ball.m_radius = float(b.radius);
      fixture.shape = &ball;
    } else {
      box.SetAsBox(float(b.half[0]), float(b.half[1]));
      fixture.shape = &box;
    }
    body->CreateFixture(&fixture);
    if (b.fixed) continue;
    b2MassData mass;
    mass.mass = float(b.mass);
    mass.center.SetZero();
    mass.I = float(b.inertia[2]);
    body->SetMassData(&mass);
    at->moving.push_back(body);
  }
  return at;
}

void box2d_step(void *world, double h)
{
  box2d_world *at = static_cast<box2d_world *>(world);
  at->world.Step(float(h), at->sweeps, POSITION_SWEEPS);
}

void box2d_state(void *world, double *q)
{
  for (b2Body *body : static_cast<box2d_world *>(world)->moving) {
    *q++ = double(body->GetPosition().x);
    *q++ = double(body->GetPosition().y);
    *q++ = double(body->GetAngle());
  }
}

void box2d_destroy(void *world)
{
  delete static_cast<box2d_world *>(world);
}

} // namespace

const bench_engine bench_box2d = { "Box2D",      2, 0, box2d_create, box2d_step, box2d_state,
                                   box2d_destroy };
