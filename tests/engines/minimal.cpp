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
  bool space, rebounds;
} rows[] = {
  { "fall", fall, false, false },
  { "tips", tips, false, false },
  { "straight", straight, true, false },
  { "azimuth", azimuth, true, false },
  { "slope", slope, false, false },
  { "hundred", hundred, false, false },
  { "thousand", thousand, false, false },
  { "five", five, false, false },
  { "cube", cube, false, false },
  { "tower", tower, false, false },
  { "welded-tower", welded_tower, false, false },
  { "welded-beam", welded_beam, false, false },
  { "bounce", bounce, false, true },
  { "box-bounce", box_bounce, false, true },
  { "fast-ball", fast_ball, false, false },
  { "spin", spin, true, false },
};

} // namespace

int main(int n, char **words)
{
  for (const auto &row : rows) {
    if ((n > 1 && std::strcmp(words[1], row.name) != 0) || (row.space && engine::planar) ||
        (row.rebounds && !engine::rebounds))
      continue;
    const double figure = row.run();
    engine::close();
    std::printf("%s %.6g\n", row.name, figure);
    std::fflush(stdout);
  }
  return 0;
}
