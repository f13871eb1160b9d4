/**
 * Models that containers run, by the containers' opaque keys: as their jobs said, or else their image. Names
 * are in memory: people read them, and nothing depends on them.
 */
import { LRUCache } from "lru-cache";
import type { ContainerName } from "../../domain/scheduling/explanation.ts";
import type { WaitingJob } from "../../protocol/queue.ts";

/** As many keys as estimates are kept for. */
const MAX_KEYS = 5_000;

export class ContainerNames {
  readonly #names = new LRUCache<string, ContainerName>({ max: MAX_KEYS });

  add({ container_key, image, model, model_id, model_owner_id }: WaitingJob): void {
    this.#names.set(container_key, { image, model: { name: model, model_id, model_owner_id } });
  }

  /** Adds the images of containers that no job has asked for since the pool woke up. */
  addImages(containers: Iterable<{ key: string; image: string }>): void {
    for (const { key, image } of containers)
      if (!this.#names.has(key)) this.#names.set(key, { image, model: null });
  }

  find(key: string): ContainerName | undefined {
    return this.#names.get(key);
  }
}
