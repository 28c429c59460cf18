/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Actuators: every kind is a set of parameters of the general one, which defaults and the element
 * itself change in this order, as in MuJoCo. */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

typedef enum actuator_gain { GAIN_FIXED, GAIN_AFFINE, GAIN_OTHER } actuator_gain;
typedef enum actuator_bias { BIAS_NONE, BIAS_AFFINE, BIAS_OTHER } actuator_bias;

typedef struct actuator_general {
  actuator_gain gain;
  actuator_bias bias;
  const char *beyond; /* what the scene has not */
  double gain_prm[3], bias_prm[3];
  double inherit; /* control range from that of the joint, multiplied */
} actuator_general;

static const char actuator_filter[] = "an activation state (a filter)";

static void actuator_set_general(perp_robot *robot, const xmlNode *node, actuator_general *general)
{
  static const char
      *const gains[] = { "fixed", "affine", "muscle", "user", "dcmotor", NULL },
             *const biases[] = { "none", "affine", "muscle", "user", "dcmotor", NULL },
             *const dynamics[] = { "none",   "integrator", "filter",  "filterexact",
                                   "muscle", "user",       "dcmotor", NULL };
  const int gain = perp_xml_word(robot, node, "gaintype", gains, (int)general->gain),
            bias = perp_xml_word(robot, node, "biastype", biases, (int)general->bias),
            dynamic = perp_xml_word(robot, node, "dyntype", dynamics, -1);
  int n;
  general->gain = gain > 2 ? GAIN_OTHER : (actuator_gain)gain;
  general->bias = bias > 2 ? BIAS_OTHER : (actuator_bias)bias;
  if (dynamic >= 0)
    general->beyond = dynamic == 0 ? NULL
                                   : perp_pool_printf(&robot->pool, "an activation state (%s)",
                                                      dynamics[dynamic]);
  const double *v = perp_xml_list(robot, node, "gainprm", &n);
  for (int i = 0; i < n && i < 3; i++) general->gain_prm[i] = v[i];
  v = perp_xml_list(robot, node, "biasprm", &n);
  for (int i = 0; i < n && i < 3; i++) general->bias_prm[i] = v[i];
}

static bool actuator_number(perp_robot *robot, const xmlNode *node, const char *key, double *v)
{
  return perp_xml_numbers(robot, node, key, 1, 1, v) == 1;
}

static void actuator_set_position(perp_robot *robot, const xmlNode *node, actuator_general *general)
{
  double kp = general->gain_prm[0], kv, ratio, time;
  actuator_number(robot, node, "kp", &kp);
  general->gain = GAIN_FIXED;
  general->bias = BIAS_AFFINE;
  general->gain_prm[0] = kp;
  general->bias_prm[1] = -kp;
  if (actuator_number(robot, node, "kv", &kv)) general->bias_prm[2] = -kv;
  if (actuator_number(robot, node, "dampratio", &ratio)) general->bias_prm[2] = ratio;
  if (actuator_number(robot, node, "timeconst", &time))
    general->beyond = time > 0 ? actuator_filter : NULL;
  actuator_number(robot, node, "inheritrange", &general->inherit);
}

/* What an element of any kind says about the parameters. */
static void actuator_apply(perp_robot *robot, const xmlNode *node, actuator_general *general)
{
  const actuator_general plain = { .gain = GAIN_FIXED };
  double v = 0;
  if (perp_xml_is(node, "general"))
    actuator_set_general(robot, node, general);
  else if (perp_xml_is(node, "motor")) {
    *general = plain;
    general->gain_prm[0] = 1;
  } else if (perp_xml_is(node, "position"))
    actuator_set_position(robot, node, general);
  else if (perp_xml_is(node, "intvelocity")) {
    actuator_set_position(robot, node, general);
    general->beyond = "an activation state (an integrator)";
  } else if (perp_xml_is(node, "velocity")) {
    v = general->gain_prm[0];
    actuator_number(robot, node, "kv", &v);
    *general = plain;
    general->bias = BIAS_AFFINE;
    general->gain_prm[0] = v;
    general->bias_prm[2] = -v;
  } else if (perp_xml_is(node, "damper")) {
    actuator_number(robot, node, "kv", &v);
    *general = plain;
    general->gain = GAIN_AFFINE;
    general->gain_prm[2] = -v;
  } else if (perp_xml_is(node, "adhesion"))
    *general = plain;
  else
    general->beyond = perp_pool_printf(&robot->pool, "the force of a %s", node->name);
}

/* Inertia of the motion of one joint alone, from the drawn pose, with its armature. */
static double actuator_inertia(const perp_robot *robot, int j)
{
  const perp_robot_joint *joint = &robot->joint[j];
  double sum = joint->armature;
  for (int b = joint->body; b < robot->n_bodies; b++) {
    int up = b;
    while (up > joint->body) up = robot->body[up].parent;
    if (up != joint->body) continue;
    const perp_robot_body *body = &robot->body[b];
    if (joint->kind == PERP_ROBOT_SLIDE) {
      sum += body->mass;
      continue;
    }
    double arm[3], c[3], own[3];
    for (int i = 0; i < 3; i++) {
      arm[i] = body->at[i] - joint->anchor[i] +
               (body->R[i] * body->com[0] + body->R[i + 3] * body->com[1] +
                body->R[i + 6] * body->com[2]);
      own[i] = perp_dot(3, body->R + 3 * i, joint->along);
    }
    perp_cross(joint->along, arm, c);
    sum += body->mass * perp_dot(3, c, c);
    for (int i = 0; i < 3; i++)
      for (int k = 0; k < 3; k++) sum += own[i] * body->inertia[i + 3 * k] * own[k];
  }
  return sum;
}

/* Which element it drives. */
static bool actuator_where(mjcf *mj, const mjcf_element *element, perp_robot_actuator *actuator)
{
  static const struct {
    const char *key;
    perp_robot_transmission at;
  } keys[] = { { "joint", PERP_ROBOT_AT_JOINT },     { "jointinparent", PERP_ROBOT_AT_JOINT },
               { "tendon", PERP_ROBOT_AT_TENDON },   { "slidersite", PERP_ROBOT_AT_CRANK },
               { "cranksite", PERP_ROBOT_AT_CRANK }, { "site", PERP_ROBOT_AT_SITE },
               { "body", PERP_ROBOT_AT_BODY } };
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    const char *name = perp_xml_text(mj->robot, element->node, keys[i].key);
    if (name == NULL) continue;
    mjcf_table *table = keys[i].at == PERP_ROBOT_AT_JOINT    ? &mj->joints
                        : keys[i].at == PERP_ROBOT_AT_TENDON ? &mj->tendons
                        : keys[i].at == PERP_ROBOT_AT_BODY   ? &mj->bodies
                                                             : &mj->sites;
    static const char *const kinds[] = { "joint", "tendon", "site", "site", "body" };
    const int id = mjcf_reference(mj, table, element->node, keys[i].key, kinds[keys[i].at]);
    actuator->at = keys[i].at;
    actuator->whose = name;
    actuator->target = keys[i].at <= PERP_ROBOT_AT_TENDON ? id : -1;
    return id >= 0;
  }
  if (!((const mjcf_source *)element->node->_private)->attached)
    perp_xml_refuse(mj->robot, element->node, "write joint=\"NAME\"",
                    "actuator '%s' drives nothing", actuator->name);
  return false;
}

static void actuator_limits(const mjcf_element *element, const actuator_general *general,
                            perp_robot_actuator *own)
{
  perp_robot *robot = element->mj->robot;
  mjcf_numbers(element, "ctrlrange", 2, 2, own->ctrl_range);
  own->ctrl_limited = mjcf_limited(element, "ctrllimited", "ctrlrange", own->ctrl_range);
  mjcf_numbers(element, "forcerange", 2, 2, own->force);
  own->force_limited = mjcf_limited(element, "forcelimited", "forcerange", own->force);
  if (general->inherit > 0 && own->target >= 0 && mjcf_with(element, "ctrlrange") == NULL) {
    const bool tendon = own->at == PERP_ROBOT_AT_TENDON;
    const double *range = tendon ? robot->tendon[own->target].range
                                 : robot->joint[own->target].range;
    if (!(range[0] < range[1])) {
      perp_xml_refuse(robot, element->node, "write a range for it, or a ctrlrange",
                      "actuator '%s' inherits the range of %s '%s', which has none", own->name,
                      tendon ? "tendon" : "joint", own->whose);
      return;
    }
    const double middle = (range[0] + range[1]) / 2,
                 half = general->inherit * (range[1] - range[0]) / 2;
    own->ctrl_range[0] = middle - half;
    own->ctrl_range[1] = middle + half;
    own->ctrl_limited = true;
  }
}

/* A fixed tendon of one joint is that joint, with another gear. */
static void actuator_single(const perp_robot *robot, perp_robot_actuator *own)
{
  if (own->at != PERP_ROBOT_AT_TENDON || robot->tendon[own->target].n_terms != 1) return;
  const perp_robot_term *term = robot->tendon[own->target].term;
  own->at = PERP_ROBOT_AT_JOINT;
  own->target = term->joint;
  own->gear *= term->factor;
}

static void actuator_one(mjcf *mj, const xmlNode *node)
{
  perp_robot *robot = mj->robot;
  const mjcf_element element = mjcf_layers(mj, node, "actuator", NULL);
  actuator_general general = { .gain_prm = { 1 } };
  const char *name = perp_xml_text(robot, node, "name");
  perp_robot_actuator own = { .name = name != NULL ? name : "", .target = -1, .whose = "" };
  double gear[6] = { 1 }, v = 0;
  for (int i = element.n - 1; i >= 0; i--) actuator_apply(robot, element.layer[i], &general);
  if (perp_robot_refused(robot) || !actuator_where(mj, &element, &own)) return;
  const int group = mjcf_integer(&element, "group", 0);
  if (group >= 0 && group <= 30 && (mj->groups_off >> group & 1) != 0) {
    perp_robot_note(robot, "actuator %s is disabled (actuatorgroupdisable)", own.name);
    return;
  }
  mjcf_numbers(&element, "gear", 1, 6, gear);
  own.gear = gear[0];
  actuator_limits(&element, &general, &own);
  actuator_single(robot, &own);
  const bool jointed = own.at == PERP_ROBOT_AT_JOINT && own.target >= 0;
  own.gain = general.gain_prm[0];
  if (general.bias == BIAS_AFFINE) memcpy(own.bias, general.bias_prm, sizeof own.bias);
  own.beyond = general.beyond != NULL                                     ? general.beyond
               : general.gain != GAIN_FIXED || general.bias == BIAS_OTHER ? "a nonlinear force"
                                                                          : NULL;
  if (own.bias[2] > 0 && own.gain == -own.bias[1]) { /* a damping ratio */
    const double kp = own.gain;
    double inertia = jointed && own.gear != 0
                         ? actuator_inertia(robot, own.target) / (own.gear * own.gear)
                         : 0;
    own.bias[2] = -2 * own.bias[2] * sqrt(fmax(0, kp * inertia));
  }
  if (mjcf_number(&element, "delay", 0) > 0) own.beyond = "a delay";
  if (jointed && robot->joint[own.target].kind >= PERP_ROBOT_SLIDE) {
    perp_robot_joint *joint = &robot->joint[own.target];
    v = mjcf_number(&element, "armature", 0) * own.gear * own.gear; /* inertia of the motor */
    joint->armature += v;
    v = mjcf_number(&element, "damping", 0) * own.gear * own.gear;
    joint->damping += v;
  } else if (mjcf_number(&element, "armature", 0) != 0 || mjcf_number(&element, "damping", 0) != 0)
    perp_robot_lost(robot, "armature and damping of actuator %s: inertia and friction of its motor",
                    own.name);
  mjcf_table_add(mj, &mj->actuators, node, "actuator", name, robot->n_actuators);
  *perp_robot_add_actuator(robot) = own;
}

void mjcf_actuator_read(mjcf *mj)
{
  for (const xmlNode *section = perp_xml_child(mj->root, "actuator"); section != NULL;
       section = perp_xml_next(section, "actuator"))
    for (const xmlNode *node = perp_xml_child(section, NULL);
         node != NULL && !perp_robot_refused(mj->robot); node = perp_xml_next(node, NULL))
      actuator_one(mj, node);
}
