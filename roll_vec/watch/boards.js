// ------------------------------------------------------------------ boards and pictures

// Pictures that are decoded at a time.
const MOST_PICTURES = 400;

class Painter {
  #atlas = null;
  #pictures = new Map();

  constructor(recording) {
    this.recording = recording;
    const size = recording.tileSize;
    if (!size) return;
    const pixels = recording.arrays.tiles, count = pixels.length / (3 * size * size);
    this.#atlas = el("canvas", { width: size, height: size * count });
    const image = new ImageData(size, size * count);
    for (let i = 0; i < size * size * count; i++) {
      image.data.set(pixels.subarray(3 * i, 3 * i + 3), 4 * i);
      image.data[4 * i + 3] = 255;
    }
    this.#atlas.getContext("2d").putImageData(image, 0, 0);
  }

  // Draw the board or picture of a frame; false: it has neither.
  // Pixels is the width at which it is seen: a board is drawn at least as sharp.
  draw(canvas, e, t, pixels) {
    const board = this.recording.board(e, t);
    if (board) {
      const width = board.width * this.recording.tileSize;
      const wanted = Math.ceil(pixels * (globalThis.devicePixelRatio || 1) / width);
      this.#drawBoard(canvas, board, Math.max(1, Math.min(8, wanted)));
      return true;
    }
    const number = this.recording.picture(e, t);
    if (!number) return false;
    canvas.wanted = number;
    this.#load(number).then((bitmap) => {
      // Another frame may be due by now.
      if (canvas.wanted === number) {
        if (canvas.width !== bitmap.width) canvas.width = bitmap.width;
        if (canvas.height !== bitmap.height) canvas.height = bitmap.height;
        canvas.getContext("2d").drawImage(bitmap, 0, 0);
      }
    });
    return true;
  }

  #drawBoard(canvas, { height, width, codes }, scale) {
    const size = this.recording.tileSize, side = size * scale;
    if (canvas.width !== width * side) canvas.width = width * side;
    if (canvas.height !== height * side) canvas.height = height * side;
    const context = canvas.getContext("2d");
    context.imageSmoothingEnabled = false;
    for (let i = 0; i < codes.length; i++) {
      const x = (i % width) * side, y = Math.floor(i / width) * side;
      context.drawImage(this.#atlas, 0, codes[i] * size, size, size, x, y, side, side);
    }
  }

  #load(number) {
    let picture = this.#pictures.get(number);
    if (!picture) {
      picture = createImageBitmap(this.recording.pictureFile(number));
      this.#pictures.set(number, picture);
      if (this.#pictures.size > MOST_PICTURES) {
        this.#pictures.delete(this.#pictures.keys().next().value);
      }
    }
    return picture;
  }
}
