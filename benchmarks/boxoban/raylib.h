/* The names of raylib that PufferLib's Boxoban draws with; nothing is drawn here. */
#ifndef RAYLIB_H
#define RAYLIB_H
#include <stdbool.h>

typedef struct { int width, height; } Texture2D;
typedef struct { float x, y, width, height; } Rectangle;
typedef struct { float x, y; } Vector2;
typedef struct { unsigned char r, g, b, a; } Color;
#define WHITE ((Color){255, 255, 255, 255})
#define KEY_ESCAPE 256

static inline Texture2D LoadTexture(const char *path) { return (Texture2D){0}; }
static inline void UnloadTexture(Texture2D texture) {}
static inline void DrawTexturePro(
    Texture2D texture, Rectangle from, Rectangle to, Vector2 origin, float rotation,
    Color tint) {}
static inline bool IsWindowReady(void) { return true; }
static inline bool IsKeyDown(int key) { return false; }
static inline void InitWindow(int width, int height, const char *title) {}
static inline void CloseWindow(void) {}
static inline void SetTargetFPS(int fps) {}
static inline void BeginDrawing(void) {}
static inline void EndDrawing(void) {}
static inline void ClearBackground(Color colour) {}
#endif
