/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chipmunk 7 by its defaults. */
#include "minimal.hpp"

#include <chipmunk/chipmunk.h>
#include <cmath>
#include <cstdlib>
#include <vector>

namespace {
cpSpace *space;
std::vector<cpBody *> body;
std::vector<cpShape *> shapes;
std::vector<cpConstraint *> joints;
double step_size, friction, rebound;

cpVect vec(const double *a)
{
  return cpv(a[0], a[2]);
}

void surface(cpShape *shape)
{
  cpShapeSetFriction(shape, std::sqrt(friction)); /* of a pair: the product */
  cpShapeSetElasticity(shape, std::sqrt(rebound));
  cpSpaceAddShape(space, shape);
  shapes.push_back(shape);
}

void joint(cpConstraint *j)
{
  cpSpaceAddConstraint(space, j);
  joints.push_back(j);
}
} // namespace

namespace engine {
const bool planar = true, rebounds = true, capsules = false;

void open(const double g[3], double h, double mu, double e, bool plane)
{
  space = cpSpaceNew();
  cpSpaceSetGravity(space, vec(g));
  step_size = h;
  friction = mu;
  rebound = e;
  if (plane) surface(cpSegmentShapeNew(cpSpaceGetStaticBody(space), cpv(-100, 0), cpv(100, 0), 0));
}

int add(const Body &b)
{
  const double sphere = 0.4 * b.mass * b.radius * b.radius,
               square = b.mass * (b.half[0] * b.half[0] + b.half[2] * b.half[2]) / 3,
               I = b.inertia[1] > 0 ? b.inertia[1]
                   : b.radius > 0   ? sphere
                                    : square;
  cpBody *made = b.mass > 0 ? cpBodyNew(b.mass, I) : cpBodyNewStatic();
  cpBodySetPosition(made, vec(b.x));
  if (b.mass > 0) cpBodySetVelocity(made, vec(b.v));
  cpSpaceAddBody(space, made);
  if (b.radius > 0)
    surface(cpCircleShapeNew(made, b.radius, cpvzero));
  else if (b.half[0] > 0)
    surface(cpBoxShapeNew(made, 2 * b.half[0], 2 * b.half[2], 0));
  body.push_back(made);
  return (int)body.size() - 1;
}

/* it has none: a pivot and a gear */
void weld(int a, int b, const double at[3])
{
  cpBody *first = a < 0 ? cpSpaceGetStaticBody(space) : body[a];
  joint(cpPivotJointNew(first, body[b], vec(at)));
  joint(cpGearJointNew(first, body[b], 0, 1));
}

void ball(int a, int b, const double at[3])
{
  joint(cpPivotJointNew(a < 0 ? cpSpaceGetStaticBody(space) : body[a], body[b], vec(at)));
}

/* x to z is against y */
void hinge(int b, const double at[3], double lower, double upper)
{
  ball(-1, b, at);
  if (lower < upper)
    joint(cpRotaryLimitJointNew(cpSpaceGetStaticBody(space), body[b], lower, upper));
}

void slide(int)
{
  std::abort(); /* the rows with sliders are in space */
}

void step()
{
  cpSpaceStep(space, step_size);
}

State get(int i)
{
  const cpVect x = cpBodyGetPosition(body[i]), v = cpBodyGetVelocity(body[i]);
  const double half = -cpBodyGetAngle(body[i]) / 2;
  return { { x.x, 0, x.y },
           { std::cos(half), 0, std::sin(half), 0 },
           { v.x, 0, v.y },
           { 0, -cpBodyGetAngularVelocity(body[i]), 0 } };
}

void close()
{
  for (auto *j : joints) cpSpaceRemoveConstraint(space, j), cpConstraintFree(j);
  for (auto *s : shapes) cpSpaceRemoveShape(space, s), cpShapeFree(s);
  for (auto *b : body) cpSpaceRemoveBody(space, b), cpBodyFree(b);
  cpSpaceFree(space);
  joints.clear();
  shapes.clear();
  body.clear();
}
} // namespace engine
