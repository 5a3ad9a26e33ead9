/* A batch of PufferLib's Boxoban: the loop of its vecenv.h over its own c_step. */
#define BOXOBAN_MAPS_IMPLEMENTATION
#include "boxoban.h"

/* Levels are read from the file that the variable BOXOBAN_MAP_BIN names. */
Boxoban *make(
    int num_envs, int max_steps, unsigned char *observations, float *actions,
    float *rewards, float *terminals)
{
    Boxoban *envs = calloc(num_envs, sizeof(Boxoban));
    for (int i = 0; i < num_envs; i++) {
        Boxoban *env = envs + i;
        env->observations = observations + 400 * i;
        env->actions = actions + i;
        env->rewards = rewards + i;
        env->terminals = terminals + i;
        env->size = 10;
        env->num_agents = 1;
        env->max_steps = max_steps;
        env->difficulty_id = -1;
        env->int_r_coeff = 0.1f;
        env->target_loss_pen_coeff = 0.1f;
        env->rng = i;
        init(env);
        c_reset(env);
    }
    return envs;
}

void step(Boxoban *envs, int num_envs)
{
    for (int i = 0; i < num_envs; i++)
        c_step(envs + i);
}
