/**
 * Objects that the platform has replaced: an old instance goes on for as long as it does not use its storage.
 */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { onTestFinished, vi } from "vitest";

/** The platform's error when an instance that is no longer the current one uses its storage. */
const MESSAGE = "Durable Object reset because its code was updated.";

/** Sends new calls of a pool to another instance, while the old one keeps its calls. */
export function movePool(name: string): void {
  const successor = `${name}-successor`;
  const getByName = env.POOL.getByName.bind(env.POOL);
  const moved = vi
    .spyOn(env.POOL, "getByName")
    .mockImplementation((asked) => getByName(asked === name ? successor : asked));
  onTestFinished(() => moved.mockRestore());
}

/** Lets every use of the instance's storage fail. */
export const cutOff = (instance: DurableObjectStub): Promise<void> =>
  runInDurableObject(instance, (_, { storage }) => {
    Object.defineProperty(storage, "sql", {
      get() {
        throw new Error(MESSAGE);
      },
    });
  });

/** Whether the instance that was cut off still runs. */
export const isCutOff = (instance: DurableObjectStub): Promise<boolean> =>
  runInDurableObject(instance, (_, { storage }) => {
    try {
      return storage.sql === undefined;
    } catch {
      return true;
    }
  });
