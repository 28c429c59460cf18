/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the files are that a robot names: meshes, included models.  Private to experiments/import.
 *
 * A file is read only if it is, after all links are followed, in one of the folders that the person
 * has named:
 *
 *      the folder of the robot's own file
 *      the package above it: the nearest parent with a package.xml or a model.config; where the
 *        folder is called urdf, sdf, mjcf or robots, its parent
 *      the folders of --package-path and of ROS_PACKAGE_PATH, and PREFIX/share of
 *        AMENT_PREFIX_PATH; for model:// those of GAZEBO_MODEL_PATH and GZ_SIM_RESOURCE_PATH, too
 *
 * package://NAME/x is looked for in this order, as by ROS and then by MuJoCo:
 *
 *      DIR/NAME/x, DIR/share/NAME/x, DIR/x where DIR is called NAME or its package.xml says so, for
 *        each DIR of --package-path, ROS_PACKAGE_PATH, AMENT_PREFIX_PATH
 *      FOLDER/x for the folder of the file and its parents up to the package, where FOLDER is
 *        called NAME or its package.xml says so
 *      NAME/x, then x, in these folders, whatever they are called
 *      the last part of x in the folder (MuJoCo strips the path)
 *
 * model://NAME/x: the same.  file:///x and /x: this file, if
 * it is in one of the folders.  x: in `folder`, then in the parents up to the package, then in
 * DIR/x, then its last part in `folder`. */
#ifndef PERP_ROBOT_SEARCH_H
#define PERP_ROBOT_SEARCH_H

#include "experiments/import/robot.h"

/* The path of a regular file, all links followed, in the pool of the robot; NULL: there is none, or
 * it is outside.  folder: where relative names begin. */
const char *perp_robot_search(perp_robot *robot, const char *folder, const char *name);
/* The same of a folder (included models). */
const char *perp_robot_search_folder(perp_robot *robot, const char *folder, const char *name);
/* The same, or NULL after perp_robot_refuse at a line of a file, which says where it was looked for
 * and what to do.  what: "mesh", "included file". */
const char *perp_robot_find(perp_robot *robot, const char *folder, const char *name,
                            const char *what, const char *at_file, int at_line);
/* The folder of a file, in the pool: "." where its name has none. */
const char *perp_robot_folder(perp_robot *robot, const char *path);

/* --package-path DIR[:DIR]: from now on, and in processes that this one starts (PERP_PACKAGE_PATH).
 * false: one of them is no folder, *bad its name (malloc). */
bool perp_package_path_set(const char *list, char **bad);

#endif
