/** Waits in real time. */

/** Repeats `attempt` every few real milliseconds until it does not throw, for `limitMs` at most. */
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

/** The real timer, also while a test holds timers. */
const { setTimeout: realTimeout } = globalThis;

/** Waits `ms` real milliseconds. */
export const pause = (ms: number) => new Promise<void>((resolve) => realTimeout(resolve, ms));
