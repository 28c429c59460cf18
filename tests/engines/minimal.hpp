/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program of a few lines for one engine, by its own defaults: what perp's adapter says about the engine must come out here,
 * too.  Each engine implements this interface in a file of its own; minimal.cpp has the scenes. */
#ifndef MINIMAL_HPP
#define MINIMAL_HPP

struct Body {
  double mass = 1;              /* 0: fixed */
  double half[3] = { 0, 0, 0 }; /* box, m */
  double radius = 0;            /* sphere, m; neither: no shape */
  double length = 0;            /* m, of a capsule of that radius along z: between its half balls */
  double force[3] = { 0, 0, 0 }; /* N, constant, at the centre */
  double x[3] = { 0, 0, 0 }, v[3] = { 0, 0, 0 }, w[3] = { 0, 0, 0 }; /* world axes */
  double inertia[3] = { 0, 0, 0 };                                   /* 0: of the shape */
};
struct State {
  double x[3], q[4], v[3], w[3]; /* quaternion w, x, y, z; world axes */
};

/* Engines of the plane have x and z; their first two rotations are none. */
namespace engine {
extern const bool planar, rebounds, capsules;
void open(const double gravity[3], double h, double mu, double e, bool plane);
int add(const Body &body);
void weld(int a, int b, const double at[3]); /* a < 0: the world */
void ball(int a, int b, const double at[3]);
/* Of the world, about y; against y the angle is within these limits, rad (both 0: none). */
void hinge(int body, const double at[3], double lower, double upper);
void slide(int body); /* of the world, along x; in space only */
void step();
State get(int body);
void close();
} // namespace engine

#endif
