/** `auspex relay`: lets docker, podman, skopeo and cog push layers of any size. */
import { type ChildProcess, spawn } from "node:child_process";
import { rm } from "node:fs/promises";
import { constants } from "node:os";
import { messageOf } from "../../../runner/src/control-plane/error.ts";
import { onAbort } from "../../lib/timeout.ts";
import { CommandEnded, Failure } from "../failure.ts";
import { integerOption } from "../options.ts";
import { RegistryClient } from "../registry/registry-client.ts";
import { knowsPeers } from "../relay/peer.ts";
import { startRelay } from "../relay/relay.ts";
import { usernameOf } from "../service/owner.ts";
import { makeScratch } from "../state/scratch.ts";
import { type Host, newServiceCommand, openService } from "./session.ts";

const PORT = 5380;

const MORE = `
A registry on this machine that passes on to the deployment's, in chunks that its zone takes. It needs
no login; while it runs, ${knowsPeers ? "your programs and root's" : "every program on this machine"} can push and pull through it.

  auspex relay                                              until Ctrl+C
  auspex relay -- docker push localhost:${PORT}/ada/story
  auspex relay -- podman push --tls-verify=false localhost:${PORT}/ada/story
  auspex relay -- skopeo copy --dest-tls-verify=false oci:story docker://localhost:${PORT}/ada/story

Docker Desktop does not reach it: use auspex publish --image there.`;

export const relayCommand = (host: Host) =>
  newServiceCommand("relay", "Let docker, podman, skopeo and cog push layers of any size")
    .argument("[command...]", "after --, what to run with it; its address is in AUSPEX_RELAY, too")
    .option("--port <port>", "the relay's port, 0 for any", integerOption(0, 65_535), PORT)
    .addHelpText("after", MORE)
    .action(async (command, options) => {
      const { access, service, output, display, signal, folders, onRetry, environment } =
        await openService(host, options);
      const username = await usernameOf(service);
      const client = new RegistryClient({ access, signal, onRetry });
      const scratch = await makeScratch(folders.cache);
      const { port } = options;
      try {
        const relay = await startRelay({ client, port, scratch });
        try {
          if (command.length > 0) await runWith(command, relay.host, environment, signal);
          else {
            output.result(relay.host, { host: relay.host, url: access.url, username });
            display.say(`It pushes to ${access.url} as ${username}. Ctrl+C ends it.`);
            await new Promise<void>((resolve) => onAbort(signal, resolve));
          }
        } finally {
          relay.close();
        }
      } finally {
        await rm(scratch, { recursive: true, force: true });
      }
    });

/** Its output is the command's own; so is how it ends. */
async function runWith(
  [name = "", ...args]: string[],
  host: string,
  environment: NodeJS.ProcessEnv,
  signal: AbortSignal,
): Promise<void> {
  const child = spawn(name, args, {
    stdio: "inherit",
    env: { ...environment, AUSPEX_RELAY: host },
  });
  // From a keyboard it comes to both; from elsewhere to this process alone.
  const stopPassingOn = onAbort(signal, () => child.kill("SIGTERM"));
  try {
    const { code, killedBy } = await endOf(child);
    if (code === 0) return;
    signal.throwIfAborted();
    const number = code ?? 128 + (killedBy ? constants.signals[killedBy] : 0);
    throw new CommandEnded(`${name} ended with ${code ?? killedBy}.`, number);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${name} cannot be run: ${messageOf(error)}`);
  } finally {
    stopPassingOn();
  }
}

const endOf = (child: ChildProcess) =>
  new Promise<{ code: number | null; killedBy: NodeJS.Signals | null }>((resolve, reject) => {
    child.on("error", reject).on("close", (code, killedBy) => resolve({ code, killedBy }));
  });
