/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Box2D 2.4: eight sweeps over velocities and three over positions, as its manual has them; no body sleeps. */
#include "minimal.hpp"

#include <box2d/box2d.h>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace {
b2World *world;
std::vector<b2Body *> body;
double step_size, friction, rebound;

b2Vec2 vec(const double *a)
{
  return b2Vec2((float)a[0], (float)a[2]);
}

void fixture(b2Body *b, const b2Shape &shape, double density)
{
  b2FixtureDef f;
  f.shape = &shape;
  f.density = (float)density;
  f.friction = (float)friction; /* of a pair: the geometric mean */
  f.restitution = (float)rebound;
  b->CreateFixture(&f);
}
} // namespace

namespace engine {
const bool planar = true, rebounds = true, capsules = false;

void open(const double g[3], double h, double mu, double e, bool plane)
{
  world = new b2World(vec(g));
  world->SetAllowSleeping(false);
  step_size = h;
  friction = mu;
  rebound = e;
  if (plane) {
    b2BodyDef def;
    b2EdgeShape line;
    line.SetTwoSided(b2Vec2(-100, 0), b2Vec2(100, 0));
    fixture(world->CreateBody(&def), line, 0);
  }
}

int add(const Body &b)
{
  b2BodyDef def;
  def.type = b.mass > 0 ? b2_dynamicBody : b2_staticBody;
  def.position = vec(b.x);
  def.linearVelocity = vec(b.v);
  b2Body *made = world->CreateBody(&def);
  if (b.radius > 0) {
    b2CircleShape circle;
    circle.m_radius = (float)b.radius;
    fixture(made, circle, 1);
  } else if (b.half[0] > 0) {
    b2PolygonShape rectangle;
    rectangle.SetAsBox((float)b.half[0], (float)b.half[2]);
    fixture(made, rectangle, 1);
  }
  if (b.mass > 0) {
    const double sphere = 0.4 * b.mass * b.radius * b.radius,
                 square = b.mass * (b.half[0] * b.half[0] + b.half[2] * b.half[2]) / 3;
    b2MassData m;
    m.mass = (float)b.mass;
    m.center.SetZero();
    m.I = (float)(b.inertia[1] > 0 ? b.inertia[1] : b.radius > 0 ? sphere : square);
    made->SetMassData(&m);
  }
  body.push_back(made);
  return (int)body.size() - 1;
}

void weld(int a, int b, const double at[3])
{
  b2BodyDef ground;
  b2WeldJointDef def;
  def.Initialize(a < 0 ? world->CreateBody(&ground) : body[a], body[b], vec(at));
  world->CreateJoint(&def);
}

void ball(int a, int b, const double at[3])
{
  b2BodyDef ground;
  b2RevoluteJointDef def;
  def.Initialize(a < 0 ? world->CreateBody(&ground) : body[a], body[b], vec(at));
  world->CreateJoint(&def);
}

/* x to z is against y */
void hinge(int b, const double at[3], double lower, double upper)
{
  b2BodyDef ground;
  b2RevoluteJointDef def;
  def.Initialize(world->CreateBody(&ground), body[b], vec(at));
  def.enableLimit = lower < upper;
  def.lowerAngle = (float)lower;
  def.upperAngle = (float)upper;
  world->CreateJoint(&def);
}

void slide(int)
{
  std::abort(); /* the rows with sliders are in space */
}

void step()
{
  world->Step((float)step_size, 8, 3);
}

State get(int i)
{
  const b2Body *b = body[i];
  const double half = -b->GetAngle() / 2; /* x to z is against y */
  return { { b->GetPosition().x, 0, b->GetPosition().y },
           { std::cos(half), 0, std::sin(half), 0 },
           { b->GetLinearVelocity().x, 0, b->GetLinearVelocity().y },
           { 0, -b->GetAngularVelocity(), 0 } };
}

void close()
{
  delete world;
  body.clear();
}
} // namespace engine
