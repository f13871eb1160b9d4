/** Places where containers of a class can be started. */
import type { Box } from "./box.ts";
import type { Job } from "./class-line.ts";
import type { PoolState } from "./pool-state.ts";
import { type Swap, swapOn } from "./swap.ts";

/**
 * The most boxes on which idle containers to stop are looked for: the least of so many is hardly worth more
 * than the least of all.
 */
const SWAP_SAMPLE = 20;

export class Places {
  /** Boxes that have room, or could make some. */
  readonly #boxes: Box[];
  readonly #gpus: number;
  readonly hasRoom: boolean;

  constructor({ fleet }: PoolState, hardware: string, gpus: number) {
    this.#gpus = gpus;
    this.#boxes = [];
    let hasRoom = false;
    for (const box of fleet.boxes.values()) {
      if (!box.takes || !box.couldHaveRoom(gpus) || !box.serves(hardware)) continue;
      this.#boxes.push(box);
      hasRoom ||= box.hasRoom(gpus);
    }
    this.hasRoom = hasRoom;
  }

  get none(): boolean {
    return this.#boxes.length === 0;
  }

  /**
   * Returns a box with room: one that has the image first, then the one that is left with the fewest GPUs.
   */
  roomFor({ ask: { image } }: Job, isAllowed: (box: Box) => boolean): Box | undefined {
    if (!this.hasRoom) return undefined;
    let best: { box: Box; hasImage: boolean } | undefined;
    for (const box of this.#boxes) {
      if (!box.hasRoom(this.#gpus) || !isAllowed(box)) continue;
      const hasImage = box.hasImage(image);
      const isBetter =
        !best || (hasImage === best.hasImage ? box.freeGpus < best.box.freeGpus : hasImage);
      if (isBetter) best = { box, hasImage };
    }
    return best?.box;
  }

  /** Returns the box where the containers to stop are worth least. */
  swapFor(
    { ask, place }: Job,
    isAllowed: (box: Box) => boolean,
    { worth }: PoolState,
    now: number,
  ): Swap | undefined {
    let best: Swap | undefined;
    let looked = 0;
    const count = this.#boxes.length;
    // Searches of different jobs begin at different boxes, if there are many.
    const from = count > SWAP_SAMPLE ? place * SWAP_SAMPLE : 0;
    for (let n = 0; n < count && looked < SWAP_SAMPLE; n += 1) {
      const box = this.#boxes[(from + n) % count];
      if (!box || !isAllowed(box)) continue;
      looked += 1;
      const swap = swapOn(box, ask.gpus, (one) => worth.of(one, now));
      if (swap && (!best || swap.worth < best.worth)) best = swap;
    }
    return best;
  }
}
