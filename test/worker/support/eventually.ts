/** Waits in real time for what happens by itself. */

/** Tries again, every few real milliseconds, until it does not throw. */
export async function eventually<T>(attempt: () => T | Promise<T>, limitMs = 15_000): Promise<T> {
  const end = performance.now() + limitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
      await pause(5);
    }
  }
}

/** The real one, also while timers are stopped. */
const { setTimeout: realTimeout } = globalThis;

/** Lets what is under way happen. */
export const pause = (ms: number) => new Promise<void>((resolve) => realTimeout(resolve, ms));
