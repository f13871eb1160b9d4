/** Ends a stream when its reader loses access: the token is revoked, the session has ended. */
import { CHECK_MS } from "../domain/accounts/access-checks.ts";
import type { EventStream } from "../services/predictions/event-stream.ts";

/**
 * Checks every CHECK_MS, not for each event.
 * @param check returns the stream's last event once access has ended
 */
export function endStreamWhen(stream: EventStream, check: () => Promise<string | undefined>): void {
  const timer = setInterval(async () => {
    const lastEvent = await check();
    if (lastEvent === undefined) return;
    clearInterval(timer);
    await stream.end(lastEvent);
  }, CHECK_MS);
  void stream.over.then(() => clearInterval(timer));
}
