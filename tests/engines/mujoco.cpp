/* SPDX-License-Identifier: GPL-3.0-or-later */
/* MuJoCo: a model in its own format, all options by default but for stiffer contacts of the pinched capsule. */
#include "minimal.hpp"

#include <cstdio>
#include <cstring>
#include <mujoco/mujoco.h>
#include <string>
#include <vector>

namespace {
std::string head;
std::vector<std::string> text; /* of each body, without its end */
std::vector<int> parent;       /* -1: the world */
std::vector<Body> defs;
mjModel *model;
mjData *data;
double friction;

int number(int i)
{
  return mj_name2id(model, mjOBJ_BODY, ("b" + std::to_string(i)).c_str());
}

std::string three(const double *a)
{
  char s[96];
  std::snprintf(s, sizeof s, "%.17g %.17g %.17g", a[0], a[1], a[2]);
  return s;
}

std::string nested(int i)
{
  std::string out = text[i];
  for (size_t k = 0; k < text.size(); k++)
    if (parent[k] == i) out += nested((int)k);
  return out + "</body>\n";
}

std::string geom_of(const Body &b)
{
  char mu[96];
  /* Through contacts of the default time constant pads that are pressed by forces pass. */
  const bool pressed = b.length > 0 || b.force[0] != 0;
  std::snprintf(mu, sizeof mu, " friction='%.17g' mass='0'%s/>", friction,
                pressed ? " solref='0.004 1'" : "");
  if (b.length > 0)
    return "<geom type='capsule' size='" + std::to_string(b.radius) + " " +
           std::to_string(b.length / 2) + "'" + mu;
  if (b.radius > 0) return "<geom type='sphere' size='" + std::to_string(b.radius) + "'" + mu;
  if (b.half[0] > 0) return "<geom type='box' size='" + three(b.half) + "'" + mu;
  return "";
}

/* the joint of b to its parent, instead of none */
void child(int a, int b, const std::string &joint)
{
  text[b].replace(text[b].find("<freejoint/>"), 12, joint);
  parent[b] = a;
  double x[3];
  for (int k = 0; k < 3; k++) x[k] = defs[b].x[k] - (a < 0 ? 0 : defs[a].x[k]);
  const size_t from = text[b].find("pos='") + 5, to = text[b].find('\'', from);
  text[b].replace(from, to - from, three(x));
}

std::string from_centre(int b, const double at[3])
{
  double x[3];
  for (int k = 0; k < 3; k++) x[k] = at[k] - defs[b].x[k];
  return three(x);
}

void compile()
{
  std::string xml = head;
  for (size_t i = 0; i < text.size(); i++)
    if (parent[i] < 0) xml += nested((int)i);
  xml += "</worldbody></mujoco>\n";
  mjVFS *files = new mjVFS;
  char error[500] = "";
  mj_defaultVFS(files);
  mj_makeEmptyFileVFS(files, "m.xml", (int)xml.size() + 1);
  std::memcpy(files->filedata[0], xml.c_str(), xml.size() + 1);
  model = mj_loadXML("m.xml", files, error, sizeof error);
  delete files;
  if (model == nullptr) {
    std::fprintf(stderr, "%s\n%s", error, xml.c_str());
    std::exit(1);
  }
  data = mj_makeData(model);
  for (size_t i = 0; i < defs.size(); i++) {
    const int b = mj_name2id(model, mjOBJ_BODY, ("b" + std::to_string(i)).c_str()),
              j = model->body_jntadr[b];
    if (j < 0 || model->jnt_type[j] != mjJNT_FREE) continue;
    const int at = model->jnt_dofadr[j];
    for (int k = 0; k < 3; k++)
      data->qvel[at + k] = defs[i].v[k], data->qvel[at + 3 + k] = defs[i].w[k];
  }
  mj_forward(model, data);
}
} // namespace

namespace engine {
const bool planar = false, rebounds = false, capsules = true;

void open(const double g[3], double h, double mu, double, bool plane)
{
  char step[64], rub[64];
  friction = mu;
  std::snprintf(step, sizeof step, "%.17g", h);
  std::snprintf(rub, sizeof rub, "%.17g", mu);
  head = std::string("<mujoco><compiler angle='radian'/><option timestep='") + step +
         "' gravity='" + three(g) + "'/><worldbody>\n";
  if (plane) head += std::string("<geom type='plane' size='100 100 1' friction='") + rub + "'/>\n";
}

int add(const Body &b)
{
  const int i = (int)text.size();
  const double I = 0.4 * b.mass * b.radius * b.radius;
  double inertia[3] = { I, I, I };
  for (int k = 0; k < 3 && b.half[0] > 0; k++) {
    const double p = b.half[(k + 1) % 3], q = b.half[(k + 2) % 3];
    inertia[k] = b.mass * (p * p + q * q) / 3;
  }
  for (int k = 0; k < 3 && b.inertia[0] > 0; k++) inertia[k] = b.inertia[k];
  std::string t = "<body name='b" + std::to_string(i) + "' pos='" + three(b.x) + "'>";
  char mass[64];
  std::snprintf(mass, sizeof mass, "%.17g", b.mass);
  if (b.mass > 0)
    t += std::string("<freejoint/><inertial pos='0 0 0' mass='") + mass + "' diaginertia='" +
         three(inertia) + "'/>";
  text.push_back(t + geom_of(b));
  parent.push_back(-1);
  defs.push_back(b);
  return i;
}

/* a body without a joint is fixed in its parent */
void weld(int a, int b, const double[3])
{
  child(a, b, "");
}

void ball(int a, int b, const double at[3])
{
  child(a, b, "<joint type='ball' pos='" + from_centre(b, at) + "'/>");
}

void slide(int b)
{
  child(-1, b, "<joint type='slide' axis='1 0 0'/>");
}

void hinge(int b, const double at[3], double lower, double upper)
{
  const double range[3] = { lower, upper, 0 };
  std::string limits = three(range);
  limits = " limited='true' range='" + limits.substr(0, limits.rfind(' ')) + "'";
  child(-1, b,
        "<joint type='hinge' axis='0 -1 0' pos='" + from_centre(b, at) + "'" +
            (lower < upper ? limits : "") + "/>");
}

void step()
{
  if (model == nullptr) compile();
  for (size_t i = 0; i < defs.size(); i++)
    for (int k = 0; k < 3; k++) data->xfrc_applied[6 * number((int)i) + k] = defs[i].force[k];
  mj_step(model, data);
}

State get(int i)
{
  State s;
  if (model == nullptr) compile();
  const int b = number(i);
  double turning_and_going[6];
  mj_kinematics(model, data);
  mj_comPos(model, data);
  mj_comVel(model, data);
  mj_objectVelocity(model, data, mjOBJ_BODY, b, turning_and_going, 0);
  for (int k = 0; k < 3; k++) {
    s.x[k] = data->xpos[3 * b + k];
    s.v[k] = turning_and_going[3 + k];
    s.w[k] = turning_and_going[k];
  }
  for (int k = 0; k < 4; k++) s.q[k] = data->xquat[4 * b + k];
  return s;
}

void close()
{
  if (model != nullptr) {
    mj_deleteData(data);
    mj_deleteModel(model);
  }
  model = nullptr;
  text.clear();
  parent.clear();
  defs.clear();
}
} // namespace engine
