/** What starts a runner on its machine, with the new token in it: shown once. */
import {
  fetchCommand,
  packageName,
  type RunnerPackage,
} from "../../domain/runners/runner-version.ts";
import { Copy } from "../ui/parts.tsx";

export interface NewRunner {
  token: string;
  name: string;
  hardware: string[];
  /** Scheme and host of this deployment. */
  origin: string;
  /** That it serves. */
  runner: RunnerPackage;
}

export const Install = ({ made }: { made: NewRunner }) => (
  <section class="new-secret" aria-labelledby="made-title">
    <h2 id="made-title">Your new runner token: {made.name}</h2>
    <p>
      Copy it now. It will not be shown again. To start a runner, run this on a machine with Node.js
      22 and Docker:
    </p>
    {made.hardware.map((hardware) => (
      <>
        {made.hardware.length > 1 && <h3>On {hardware}</h3>}
        <Copy text={startText(made, hardware)} />
      </>
    ))}
    <p class="hint">
      <code>check</code> reports what is missing on the machine. <code>--slots</code> sets how many
      predictions run at a time. <code>--help</code> lists all settings. Without Docker,{" "}
      <code>--engine process --models DIR</code> runs model folders, for laptops and tests.
    </p>
    <details>
      <summary>Run as a systemd service</summary>
      <Copy text={serviceText(made)} />
    </details>
    <details>
      <summary>Token only</summary>
      <Copy text={made.token} />
    </details>
  </section>
);

/** The token in the environment: what is in a command line every process of the machine can read. */
function startText({ token, origin, runner }: NewRunner, hardware: string): string {
  const run = `npx --yes ./${packageName(runner)}`;
  return `export AUSPEX_URL=${origin} AUSPEX_HARDWARE=${hardware}
export AUSPEX_RUNNER_TOKEN=${token}
${fetchCommand(origin, runner)} &&
  ${run} check && ${run}`;
}

const serviceText = ({ token, origin, runner, hardware: [hardware] }: NewRunner) =>
  `${fetchCommand(origin, runner)} &&
  sudo npm install --global ./${packageName(runner)}
echo ${token} | sudo install -D -m 600 /dev/stdin /etc/auspex-runner/token
printf 'AUSPEX_URL=%s\\nAUSPEX_HARDWARE=%s\\n' ${origin} ${hardware} | sudo tee /etc/auspex-runner/env
sudo cp "$(sudo npm root --global)/auspex-runner/systemd/auspex-runner.service" /etc/systemd/system/
sudo systemctl enable --now auspex-runner`;
