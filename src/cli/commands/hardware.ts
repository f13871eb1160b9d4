/** `auspex hardware`: the classes of machine that models can run on. */
import { priceText } from "../../domain/predictions/price.ts";
import { pageOf } from "../../protocol/common.ts";
import { type Hardware, hardware } from "../../protocol/hardware.ts";
import { limitOption, pagePath } from "../options.ts";
import { type Host, newServiceCommand, openService, showList } from "./session.ts";

export const hardwareCommand = (host: Host) =>
  newServiceCommand("hardware", "List the classes of hardware, for publish --hardware")
    .option("--limit <count>", "how many", limitOption, 50)
    .action(async (options) => {
      const session = await openService(host, options);
      const path = pagePath("/hardware", options.limit);
      const { items } = await session.service.get(path, pageOf(hardware));
      const shown = items.slice(0, options.limit);
      const hasPrice = shown.some(({ price_per_hour }) => price_per_hour !== null);
      const head = [...HEAD, ...(hasPrice ? ["PRICE PER HOUR"] : [])];
      showList(session, { head, rows: shown.map(rowOf), items: shown });
    });

const HEAD = ["CLASS", "NAME", "GPUS", "CPUS", "RAM"];

/** The memory of a class is optional. */
const rowOf = ({
  identifier,
  name,
  gpus,
  ram_per_gpu_gb,
  cpus,
  ram_gb,
  price_per_hour,
  currency,
}: Hardware) => [
  identifier,
  name,
  gpus > 0 && ram_per_gpu_gb > 0 ? `${gpus} × ${ram_per_gpu_gb} GB` : String(gpus),
  String(cpus),
  ram_gb > 0 ? `${ram_gb} GB` : "",
  price_per_hour === null ? "" : priceText(price_per_hour, currency),
];
