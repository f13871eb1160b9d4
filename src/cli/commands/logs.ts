/** `auspex logs`: what a model's container has printed. */
import { predictionArgument } from "../options.ts";
import { follow } from "../service/events.ts";
import { type Host, newServiceCommand, openService } from "./session.ts";

/** Of a stream that has nothing more for now. */
const IDLE_SECONDS = 1;

export const logsCommand = (host: Host) =>
  newServiceCommand("logs", "Print what the container of a prediction has printed")
    .argument("<id>", "the prediction", predictionArgument)
    .option("-f, --follow", "go on until the prediction ends")
    .action(async (id, options) => {
      const { access, signal, output, onRetry } = await openService(host, options);
      const idleSeconds = options.follow ? undefined : IDLE_SECONDS;
      for await (const event of follow({ access, signal, id, onRetry, idleSeconds })) {
        const text =
          event.event === "setup" ? event.data.logs : event.event === "logs" && event.data;
        if (!text) continue;
        const source = event.event === "setup" ? "setup" : "model";
        output.write(output.json ? `${JSON.stringify({ source, text })}\n` : text);
      }
    });
