/** Journeys that share a deployment and a runner, which take 6 s of a processor to start. */
import "./runs/cost.ts";
import "./runs/success.ts";
import "./runs/failure.ts";
import "./runs/cancel.ts";
import "./runs/variables.ts";
import "./runs/files.ts";
import "./runs/webhook.ts";
import "./runs/openai.ts";
import "./runs/anthropic.ts";
import "./runs/replicate.ts";
import "./runs/cli.ts";
import "./runs/cli-login.ts";
// The last journey kills the runner.
import "./runs/remote.ts";
