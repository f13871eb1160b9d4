/**
 * Waits until a container does not run. Docker answers with headers at once and with a body at the end.
 * dockerode's own `wait` does not notice that a body breaks off: when Docker ends it waits forever.
 */
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type Dockerode from "dockerode";

/** @throws when the container is gone, with Docker's status; when Docker is */
export async function waitForExit({ id, modem }: Dockerode.Container): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const request = {
    path: `/containers/${id}/wait`,
    method: "POST",
    isStream: true,
    statusCodes: { 200: true, 404: "no such container", 500: "server error" },
  };
  modem.dial(request, (error: unknown, body: unknown) => (error ? reject(error) : resolve(body)));
  const body = await promise;
  if (body instanceof Readable) await text(body);
}
