/** The commands that start a runner, with its new token, shown once. */
import {
  fetchCommand,
  packageName,
  type RunnerPackage,
} from "../../domain/runners/runner-version.ts";
import { Copy } from "../ui/parts.tsx";

export interface NewRunner {
  token: string;
  name: string;
  /** The classes that the token is for, by pool: a runner serves the classes of one pool. */
  pools: string[][];
  origin: string;
  runner: RunnerPackage;
}

export const Install = ({ created }: { created: NewRunner }) => (
  <section class="panel new-secret" aria-labelledby="created-title">
    <h2 id="created-title">
      Your new runner token: <bdi>{created.name}</bdi>
    </h2>
    <p>
      Copy it now. You won’t see it again. To start a runner, run this on a machine with Node.js 22
      and Docker:
    </p>
    {created.pools.map((hardware) => (
      <>
        {created.pools.length > 1 && <h3>On {hardware.join(", ")}</h3>}
        <Copy text={startText(created, hardware)} label="Copy commands" />
      </>
    ))}
    <p class="hint">
      <code>check</code> tests the machine. <code>--slots</code> sets the number of concurrent
      predictions. <code>--help</code> lists all settings. Without Docker, use{" "}
      <code>--engine process --models DIR</code> to run model folders on laptops and in tests.
    </p>
    <details>
      <summary>Run as a systemd service</summary>
      {created.pools.map((hardware) => (
        <>
          {created.pools.length > 1 && <h3>On {hardware.join(", ")}</h3>}
          <Copy text={serviceText(created, hardware)} label="Copy commands" />
        </>
      ))}
    </details>
    <details>
      <summary>Token only</summary>
      <Copy text={created.token} label="Copy token" />
    </details>
  </section>
);

/** The token goes into the environment: every process of the machine can read command lines. */
export function startText(
  { token, origin, runner }: Pick<NewRunner, "token" | "origin" | "runner">,
  hardware: string[],
): string {
  const run = `npx --yes ./${packageName(runner)}`;
  return `export AUSPEX_URL=${origin} AUSPEX_HARDWARE=${hardware.join()}
export AUSPEX_RUNNER_TOKEN=${token}
${fetchCommand(origin, runner)} &&
  ${run} check && ${run}`;
}

const serviceText = ({ token, origin, runner }: NewRunner, hardware: string[]) =>
  `${fetchCommand(origin, runner)} &&
  sudo npm install --global ./${packageName(runner)}
echo ${token} | sudo install -D -m 600 /dev/stdin /etc/auspex-runner/token
printf 'AUSPEX_URL=%s\\nAUSPEX_HARDWARE=%s\\n' ${origin} ${hardware.join()} | sudo tee /etc/auspex-runner/env
sudo cp "$(sudo npm root --global)/auspex-runner/systemd/auspex-runner.service" /etc/systemd/system/
sudo systemctl enable --now auspex-runner`;
