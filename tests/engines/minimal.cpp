/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scenes of docs/explanation/complaints.md, written a second time; prints the name of the row and its figure. */
#include "minimal.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

const double G = 9.81, DOWN[3] = { 0, 0, -G }, NONE[3] = { 0, 0, 0 };

Body box(double mass, double edge, double x, double z)
{
  Body b;
  b.mass = mass;
  for (double &h : b.half) h = edge / 2;
  b.x[0] = x;
  b.x[2] = z;
  return b;
}

double norm(const double *a)
{
  return std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
}

void turned(const double q[4], const double p[3], double out[3])
{
  const double *u = q + 1;
  double a[3] = { u[1] * p[2] - u[2] * p[1], u[2] * p[0] - u[0] * p[2], u[0] * p[1] - u[1] * p[0] };
  const double b[3] = { u[1] * a[2] - u[2] * a[1], u[2] * a[0] - u[0] * a[2],
                        u[0] * a[1] - u[1] * a[0] };
  for (int i = 0; i < 3; i++) out[i] = p[i] + 2 * q[0] * a[i] + 2 * b[i];
}

/* of the centre, and of points at `radius` along the axes */
double moved(const State &a, const State &b, double radius)
{
  double most = 0;
  for (int axis = -1; axis < 3; axis++)
    for (int sign = -1; sign <= 1; sign += 2) {
      double p[3] = { 0, 0, 0 }, ra[3], rb[3], d[3];
      if (engine::planar && axis == 1) continue;
      if (axis >= 0) p[axis] = sign * radius;
      turned(a.q, p, ra);
      turned(b.q, p, rb);
      for (int i = 0; i < 3; i++) d[i] = b.x[i] + rb[i] - a.x[i] - ra[i];
      most = std::max(most, norm(d));
    }
  return most;
}

int steps_of(double t, double h)
{
  return (int)std::lround(t / h);
}

/* largest displacement from the state at `settle` on */
double drift(int bodies, double radius, double t, double h, double settle = 0)
{
  std::vector<State> from;
  double most = 0;
  for (int i = 0; i <= steps_of(t, h); i++) {
    if (i > 0) engine::step();
    if (i * h < settle - 1e-10) continue;
    for (int b = 0; b < bodies; b++) {
      const State s = engine::get(b);
      if ((int)from.size() <= b) from.push_back(s);
      most = std::max(most, moved(from[b], s, radius));
    }
  }
  return most;
}

double fall()
{
  const double h = 0.01, v = 20 * std::sqrt(0.5);
  double most = 0;
  engine::open(DOWN, h, 0, 0, false);
  Body b;
  b.radius = 0.1;
  b.v[0] = b.v[2] = v;
  engine::add(b);
  for (int i = 1; i <= 200; i++) {
    engine::step();
    const State s = engine::get(0);
    const double t = i * h, d[3] = { s.x[0] - v * t, s.x[1], s.x[2] - v * t + G * t * t / 2 };
    most = std::max(most, norm(d));
  }
  return most;
}

double launched(double speed, double heading, bool turn)
{
  const double h = 5e-3, mu = 0.5, c = std::cos(heading), s = std::sin(heading);
  double most = 0;
  engine::open(DOWN, h, mu, 0, true);
  Body b = box(1, 0.1, 0, 0.05);
  b.v[0] = speed * c;
  b.v[1] = speed * s;
  engine::add(b);
  for (int i = 1; i <= 320; i++) {
    engine::step();
    const State now = engine::get(0);
    const double t = std::min(i * h, speed / (mu * G)), way = speed * t - mu * G * t * t / 2;
    const double d[3] = { now.x[0] - way * c, now.x[1] - way * s, now.x[2] - 0.05 };
    const double angle = 2 * std::atan2(norm(now.q + 1), std::fabs(now.q[0]));
    most = std::max(most, turn ? angle : norm(d));
  }
  return most;
}
double tips()
{
  return launched(6, 0, true);
}
double straight()
{
  return launched(1.56, -0.695, false);
}

double azimuth()
{
  const double h = 1. / 240, theta = M_PI / 6, pull = G * std::sin(theta) * std::sqrt(0.5);
  const double gravity[3] = { pull, pull, -G * std::cos(theta) };
  engine::open(gravity, h, 0.3, 0, true);
  engine::add(box(1, 1, 0, 0.5));
  for (int i = 0; i < 240; i++) engine::step();
  const State s = engine::get(0);
  const double a = G * (std::sin(theta) - 0.3 * std::cos(theta)), b = a * std::sqrt(0.5);
  const double d[3] = { s.v[0] - b, s.v[1] - b, s.v[2] };
  return norm(d) / a;
}

double slope()
{
  const double theta = M_PI / 9, gravity[3] = { G * std::sin(theta), 0, -G * std::cos(theta) };
  engine::open(gravity, 1. / 240, 0.5, 0, true);
  engine::add(box(1, 1, 0, 0.5));
  return drift(1, 0.5, 1, 1. / 240);
}

double heavy(double ratio)
{
  engine::open(DOWN, 1. / 240, 0.5, 0, true);
  engine::add(box(1, 1, 0, 0.5));
  engine::add(box(ratio, 1, 0, 1.5));
  return drift(2, 0.5, 2, 1. / 240);
}
double hundred()
{
  return heavy(100);
}
double thousand()
{
  return heavy(1000);
}

double five()
{
  engine::open(DOWN, 1. / 240, 0.5, 0, true);
  for (int i = 0; i < 5; i++) engine::add(box(1, 1, 0, i + 0.5));
  return drift(5, 0.5, 10, 1. / 240);
}

double cube()
{
  engine::open(DOWN, 1. / 240, 0.5, 0, false);
  engine::add(box(1, 0.5, 0, 0.25));
  engine::add(box(0, 1, 0, -0.5));
  return drift(1, 0.25, 2, 1. / 240, 0.5);
}

double tower_of(const int order[5])
{
  engine::open(DOWN, 1. / 60, 0.5, 0, true);
  for (int i = 0; i < 5; i++) {
    Body b = box(1, 1, 0, (order[i] + 0.5) * 0.5);
    b.half[2] = 0.25;
    engine::add(b);
  }
  const double most = drift(5, 0.25, 2, 1. / 60);
  engine::close();
  return most;
}
double tower()
{
  const int up[5] = { 0, 1, 2, 3, 4 }, mixed[5] = { 1, 0, 4, 2, 3 };
  const double apart = std::fabs(tower_of(up) - tower_of(mixed));
  engine::open(NONE, 1, 0, 0, false); /* the caller closes it */
  return apart;
}

double welds(bool up)
{
  const double at0[3] = { 0, 0, 0 };
  engine::open(DOWN, 1. / 60, 0, 0, false);
  for (int i = 0; i < 6; i++) {
    const double load = i < 5 ? 1 : up ? 100 : 1, m = (i + 0.5) * 0.5;
    Body b;
    b.mass = load;
    for (double &I : b.inertia) I = load * 0.25 / 6;
    b.x[up ? 2 : 0] = m;
    engine::add(b);
    const double at[3] = { up ? 0 : 0.5 * i, 0, up ? 0.5 * i : 0 };
    engine::weld(i - 1, i, i > 0 ? at : at0);
  }
  return drift(6, 0.25, 2, 1. / 60);
}
double welded_tower()
{
  return welds(true);
}
double welded_beam()
{
  return welds(false);
}

double bounce()
{
  const double h = 1. / 240;
  engine::open(DOWN, h, 0, 1, true);
  Body b;
  b.radius = 0.1;
  b.x[2] = 1.1;
  engine::add(b);
  const double first = std::sqrt(2 / G);
  double top = 0, before = 0, most = 0;
  bool flies = false;
  int bounces = 0;
  for (int i = 1; i * h <= 20 * first; i++) {
    engine::step();
    const State s = engine::get(0);
    if (before < 0 && s.v[2] >= 0) flies = true, top = s.x[2] - 0.1;
    top = std::max(top, s.x[2] - 0.1);
    if (flies && s.v[2] < 0) {
      flies = false;
      if (top > 0) most = std::max(most, std::fabs(top - 1)), bounces++;
    }
    before = s.v[2];
  }
  return bounces > 0 ? most : 1;
}

double box_bounce()
{
  const double speed = std::sqrt(2 * G), meets = 0.1 / speed, h = meets / 16;
  engine::open(NONE, h, 0.5, 1, false);
  Body b = box(1, 1, 0, 0.6);
  b.v[2] = -speed;
  engine::add(b);
  engine::add(box(0, 0.75, 0, -0.375));
  for (int i = 0; i < 32; i++) engine::step();
  const State s = engine::get(0);
  double worst = std::fabs(s.v[2] - speed);
  worst = std::max({ worst, std::fabs(s.v[0]), std::fabs(s.v[1]) });
  for (double w : s.w) worst = std::max(worst, std::fabs(w) / 2);
  return worst / speed;
}

double fast_ball()
{
  const double h = 1. / 60;
  engine::open(NONE, h, 0, 0, false);
  Body b, still;
  b.radius = still.radius = 0.1;
  b.v[0] = 5;
  still.mass = 0;
  still.x[0] = 0.73;
  engine::add(b);
  engine::add(still);
  double most = 0;
  for (int i = 0; i < 30; i++) {
    engine::step();
    const State s = engine::get(0);
    const double d[3] = { s.x[0] - 0.73, s.x[1], s.x[2] };
    most = std::max(most, 0.2 - norm(d));
  }
  return most;
}

/* largest part of p_b - p_a, the ends of a joint in the frames of bodies (a < 0: the world) */
double joint_error(int a, const double ra[3], int b, const double rb[3])
{
  double pa[3] = { ra[0], ra[1], ra[2] }, pb[3], most = 0;
  const State s = engine::get(b);
  turned(s.q, rb, pb);
  for (int k = 0; k < 3; k++) pb[k] += s.x[k];
  if (a >= 0) {
    const State r = engine::get(a);
    turned(r.q, ra, pa);
    for (int k = 0; k < 3; k++) pa[k] += r.x[k];
  }
  for (int k = 0; k < 3; k++) most = std::max(most, std::fabs(pb[k] - pa[k]));
  return most;
}

Body rod(double mass, double length, double x, double z)
{
  Body b;
  b.mass = mass;
  b.inertia[0] = mass * length * length / 600;
  b.inertia[1] = b.inertia[2] = mass * length * length / 12;
  b.x[0] = x;
  b.x[2] = z;
  return b;
}

double chain()
{
  const int links = 20;
  const double h = 1e-3, L = 0.1, left[3] = { -L / 2, 0, 0 }, right[3] = { L / 2, 0, 0 };
  double most = 0;
  engine::open(DOWN, h, 0, 0, false);
  for (int i = 0; i < links; i++) {
    const double at[3] = { L * i, 0, 0 };
    engine::add(rod(1, L, L * (i + 0.5), 0));
    engine::ball(i - 1, i, at);
  }
  for (int i = 0; i < 800; i++) {
    engine::step();
    for (int b = 0; b < links; b++)
      most = std::max(most, joint_error(b - 1, b > 0 ? right : NONE, b, left));
  }
  return most;
}

/* a rod of 3/2 L on a hinge at its end, from 45 degrees; its orientation is counted from there */
double pendulum()
{
  const double h = 1e-3, L = 0.1414, c = 0.75 * L, mass = 1, s = std::sqrt(0.5);
  engine::open(DOWN, h, 0, 0, false);
  const Body b = rod(mass, 1.5 * L, -c * s, -c * s);
  engine::add(b);
  engine::hinge(0, NONE, 0, 0);
  double first = 0, most = 0, swing = 0, low = 0, high = -HUGE_VAL; /* of energies */
  for (int i = 0; i <= 10000; i++) {
    if (i > 0) engine::step();
    const State x = engine::get(0);
    const double v = norm(x.v), kinetic = (mass * v * v + b.inertia[1] * x.w[1] * x.w[1]) / 2,
                 energy = kinetic + mass * G * x.x[2];
    if (i == 0) first = energy;
    swing = std::max(swing, kinetic);
    low = std::min(low, mass * G * x.x[2]);
    high = std::max(high, mass * G * x.x[2]);
    most = std::max(most, std::fabs(energy - first));
  }
  return most / (swing + high - low);
}

double limit()
{
  const double h = 2e-3, mass = 2, thin = 0.05;
  engine::open(DOWN, h, 0, 0, false);
  Body b = rod(mass, 1, 0.5, 0);
  b.inertia[0] = mass * 2 * thin * thin / 12;
  b.inertia[1] = b.inertia[2] = mass * (1 + thin * thin) / 12;
  engine::add(b);
  engine::hinge(0, NONE, 0, 1);
  return drift(1, 0.5, 1, h);
}

/* two welded halves of 0.45 x 0.4 x 0.1 m that tumble */
double flight()
{
  const double h = 1e-3, mass = 1, spin = 4, speed = 3;
  engine::open(DOWN, h, 0, 0, false);
  for (int i = 0; i < 2; i++) {
    Body b;
    const double s = (2 * i - 1) * 0.225, edge[3] = { 0.45, 0.4, 0.1 };
    b.mass = mass;
    b.x[0] = s;
    for (int k = 0; k < 3; k++) {
      const double p = edge[(k + 1) % 3], q = edge[(k + 2) % 3];
      b.inertia[k] = mass * (p * p + q * q) / 12;
      b.w[k] = spin;
    }
    b.v[0] = speed;
    b.v[1] = speed + spin * s;
    b.v[2] = speed - spin * s;
    engine::add(b);
  }
  engine::weld(0, 1, NONE);
  double first[3], most = 0, size = 0;
  for (int i = 0; i <= 2000; i++) {
    if (i > 0) engine::step();
    double P[3] = { 0, 0, 2 * mass * G * i * h }, d[3], sum = 0;
    for (int b = 0; b < 2; b++) {
      const State s = engine::get(b);
      for (int k = 0; k < 3; k++) P[k] += mass * s.v[k];
      sum += mass * norm(s.v);
    }
    if (i == 0) std::memcpy(first, P, sizeof P);
    for (int k = 0; k < 3; k++) d[k] = P[k] - first[k];
    most = std::max(most, norm(d));
    size = std::max(size, sum);
  }
  return most / size;
}

/* a capsule that stands between two pads on sliders, pressed together by 20 N */
double pinch()
{
  const double h = 1e-3, m = 0.045, r = 0.004, length = 10 * r, side = 12 * r;
  const double balls = 4 * r / (3 * length + 4 * r) * m, barrel = m - balls;
  engine::open(DOWN, h, 0.7, 0, false);
  Body b;
  b.mass = m;
  b.radius = r;
  b.length = length;
  b.inertia[2] = (0.5 * barrel + 0.4 * balls) * r * r;
  b.inertia[0] = b.inertia[1] = barrel * (3 * r * r + length * length) / 12 +
                                balls * (0.4 * r * r + length * length / 4 + 0.375 * length * r);
  engine::add(b);
  for (int i = 0; i < 2; i++) {
    Body pad = box(2 * m, side, (2 * i - 1) * 2 * r, 0);
    pad.half[0] = r;
    pad.force[0] = (1 - 2 * i) * 20;
    engine::slide(engine::add(pad));
  }
  return drift(1, r, 1.5, h, 0.5);
}

double spin()
{
  const double h = 1e-3, I[3] = { 97 / 120., 41 / 60., 17 / 120. }, w[3] = { 0.1, 5, 0.1 };
  engine::open(DOWN, h, 0, 0, false);
  Body b;
  b.mass = 10;
  std::memcpy(b.inertia, I, sizeof I);
  std::memcpy(b.w, w, sizeof w);
  engine::add(b);
  double first[3], most = 0;
  for (int i = 0; i <= 10000; i++) {
    if (i > 0) engine::step();
    const State s = engine::get(0);
    const double back[4] = { s.q[0], -s.q[1], -s.q[2], -s.q[3] };
    double body[3], L[3], d[3];
    turned(back, s.w, body);
    for (int k = 0; k < 3; k++) body[k] *= I[k];
    turned(s.q, body, L);
    if (i == 0) std::memcpy(first, L, sizeof L);
    for (int k = 0; k < 3; k++) d[k] = L[k] - first[k];
    most = std::max(most, norm(d));
  }
  return most / norm(first);
}

const struct {
  const char *name;
  double (*run)();
  bool space, rebounds, capsules;
} rows[] = {
  { "fall", fall, false, false, false },
  { "tips", tips, false, false, false },
  { "straight", straight, true, false, false },
  { "azimuth", azimuth, true, false, false },
  { "slope", slope, false, false, false },
  { "hundred", hundred, false, false, false },
  { "thousand", thousand, false, false, false },
  { "five", five, false, false, false },
  { "cube", cube, false, false, false },
  { "tower", tower, false, false, false },
  { "welded-tower", welded_tower, false, false, false },
  { "welded-beam", welded_beam, false, false, false },
  { "bounce", bounce, false, true, false },
  { "box-bounce", box_bounce, false, true, false },
  { "fast-ball", fast_ball, false, false, false },
  { "spin", spin, true, false, false },
  { "chain", chain, false, false, false },
  { "pendulum", pendulum, false, false, false },
  { "limit", limit, true, false, false },
  { "flight", flight, true, false, false },
  { "pinch", pinch, true, false, true },
};

} // namespace

int main(int n, char **words)
{
  for (const auto &row : rows) {
    if ((n > 1 && std::strcmp(words[1], row.name) != 0) || (row.space && engine::planar) ||
        (row.rebounds && !engine::rebounds) || (row.capsules && !engine::capsules))
      continue;
    const double figure = row.run();
    engine::close();
    std::printf("%s %.6g\n", row.name, figure);
    std::fflush(stdout);
  }
  return 0;
}
