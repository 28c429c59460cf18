/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The readers of MJCF, URDF and SDF on arbitrary bytes, in this process: a scene, or a message. */
#include "experiments/import/robot.h"
#include "experiments/import/robot_xml.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  perp_robot robot;
  perp_robot_report report = { 0 };
  char *text = text_of(data, size);
  if (text == NULL) return 0;
  perp_robot_begin(&robot, &report, "/none/robot.xml", NULL);
  xmlDoc *doc = perp_xml_parse(&robot, robot.path, text, size);
  if (doc != NULL) perp_robot_document(&robot, doc);
  if (!perp_robot_refused(&robot) && report.scene.n == 0) abort();
  perp_pool_free(&robot.pool);
  perp_text *const texts[] = { &report.scene, &report.said, &report.files,
                               &report.error, &report.hint, &report.file };
  for (int i = 0; i < 6; i++) perp_text_free(texts[i]);
  free(text);
  return 0;
}

#ifndef PERP_FUZZ
int main(void)
{
  return replay("robot", 15);
}
#endif
