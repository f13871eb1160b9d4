/** Journeys that share a deployment and a runner, those of test/journey/runs.test.ts at full size among them. */
import "./runs/files.nightly.ts";
import "./runs/others.nightly.ts";
import "./runs/webhook.nightly.ts";
import "./runs/openai.ts";
import "./runs/openai.nightly.ts";
import "./runs/anthropic.ts";
import "./runs/replicate.nightly.ts";
import "./runs/cli.nightly.ts";
