/** `auspex cancel`. */
import { z } from "zod";
import { predictionArgument } from "../options.ts";
import { type Host, newServiceCommand, openService } from "./session.ts";

export const cancelCommand = (host: Host) =>
  newServiceCommand("cancel", "Cancel a prediction")
    .argument("<id>", "the prediction", predictionArgument)
    .action(async (id, options) => {
      const { service, output } = await openService(host, options);
      await service.post(`/predictions/${id}/cancel`, z.unknown());
      output.result(`Canceling ${id}.`, { id });
    });
