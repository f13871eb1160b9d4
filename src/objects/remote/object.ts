/**
 * The remote object: one attempt of a prediction whose version is another host's. Towards the prediction it
 * acts as a runner does, over the same channel. All of it is in memory: if the object dies, its lease ends,
 * and the prediction decides whether the call is made again.
 */
import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { RemoteOrder } from "../stubs/remote.ts";
import { RemoteCall } from "./call.ts";

/** An object is dropped 70 s after its last event, whatever it waits for. An alarm is one. */
const AWAKE_MS = 30_000;

export class RemoteObject extends DurableObject<Bindings> {
  #isBusy = false;

  /** Begins the call. */
  async run(order: RemoteOrder): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { id, user_id } = order.spec;
    new RemoteCall(this.env, order)
      .run()
      .catch((error) =>
        logger.error("Remote call failed", { prediction_id: id, user_id, error: String(error) }),
      )
      .finally(() => {
        this.#isBusy = false;
        return this.ctx.storage.deleteAll();
      });
    await this.ctx.storage.setAlarm(Date.now() + AWAKE_MS);
  }

  override async alarm(): Promise<void> {
    if (this.#isBusy) return this.ctx.storage.setAlarm(Date.now() + AWAKE_MS);
    return this.ctx.storage.deleteAll();
  }
}
