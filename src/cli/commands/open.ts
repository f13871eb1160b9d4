/** `auspex open`: a page of the dashboard, in the browser. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { modelArgument, predictionId } from "../options.ts";
import { fullName } from "../service/service.ts";
import { type Host, newServiceCommand, openService } from "../session.ts";
import { isInteractive } from "../ui/output.ts";

export const openCommand = (host: Host) =>
  newServiceCommand("open", "Open the dashboard, a model or a prediction in the browser")
    .argument("[page]", "a model, a version (owner/name:3) or a prediction ID")
    .addHelpText("after", "\nPrints the URL if there is no browser.")
    .action(async (page, options) => {
      const session = await openService(host, options);
      const { access, service, output } = session;
      const id = page === undefined ? undefined : predictionId(page);
      const path = id !== undefined ? `/predictions/${id}` : await modelPath(page);
      const url = `${access.url}${path}`;
      if (!output.json && isInteractive() && (await opened(url, host.environment)))
        session.display.say(`Opened ${url}`);
      else output.result(url, { url });

      async function modelPath(name: string | undefined): Promise<string> {
        if (name === undefined) return "/";
        const { model, version } = modelArgument(name);
        const root = `/models/${await fullName(service, model)}`;
        return version === undefined ? root : `${root}/versions/${version}`;
      }
    });

/** The programs of a platform that open a URL in the user's browser. */
const OPENERS: Partial<Record<NodeJS.Platform, [string, ...string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Returns whether a program has taken the URL. Without a display, Linux has no browser. */
export async function opened(url: string, { DISPLAY, WAYLAND_DISPLAY }: NodeJS.ProcessEnv) {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  if (program === "xdg-open" && !DISPLAY && !WAYLAND_DISPLAY) return false;
  const child = spawn(program, [...args, url], { stdio: "ignore" });
  const [code] = await once(child, "exit").catch(() => [1]);
  return code === 0;
}
