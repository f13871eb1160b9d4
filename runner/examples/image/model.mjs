// Draws pictures from a text, or over one: text in, files out, one after the other.

import manifest from "./auspex.json" with { type: "json" };
import { serve } from "./cog.mjs";
import { draw } from "./landscape.mjs";
import { decode, encode } from "./png.mjs";

const SIDE = 512;
const MAX_BYTES = 50_000_000;

serve(manifest, {
  async *predict({ prompt, seed, num_outputs, image, mask, ...size }, { signal, log }) {
    const under = image && (await read(image, signal));
    const holes = under && mask && shares(await read(mask, signal), under);
    const width = size.width ?? under?.width ?? SIDE;
    const height = size.height ?? under?.height ?? SIDE;
    for (let n = 0; n < num_outputs; n++) {
      const picture = draw({ prompt, seed: seed + n, width, height });
      if (under) paintOver(picture, under, holes);
      log(`drew picture ${n + 1} of ${num_outputs}: ${width} x ${height} pixels`);
      yield new File([encode(picture)], `picture-${n + 1}.png`, { type: "image/png" });
      // A cancel is noticed between two pictures.
      await new Promise(setImmediate);
      signal.throwIfAborted();
    }
  },
});

async function read(address, signal) {
  const answer = await fetch(address, { signal });
  if (!answer.ok) throw new Error(`Cannot read the image: ${answer.status}`);
  if (Number(answer.headers.get("content-length")) > MAX_BYTES)
    throw new Error("The image is larger than 50 MB");
  return decode(await answer.arrayBuffer());
}

/** How much of each pixel of the image is painted over, from 0 to 1. */
function shares(mask, { width, height }) {
  if (mask.width !== width || mask.height !== height)
    throw new Error("The mask must have the same size as the image");
  const { pixels } = mask;
  const isTransparent = pixels.some((value, at) => at % 4 === 3 && value < 255);
  return Float32Array.from({ length: width * height }, (_, n) =>
    isTransparent ? 1 - pixels[n * 4 + 3] / 255 : pixels[n * 4] / 255,
  );
}

/** The image as large as the picture, with the picture where the mask says, or half of it everywhere. */
function paintOver({ width, height, pixels }, under, holes) {
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const row = Math.floor((y * under.height) / height);
      const from = row * under.width + Math.floor((x * under.width) / width);
      const share = holes ? holes[from] : 0.5;
      for (let c = 0; c < 3; c++) {
        const at = (y * width + x) * 4 + c;
        pixels[at] = under.pixels[from * 4 + c] * (1 - share) + pixels[at] * share;
      }
    }
  }
}
