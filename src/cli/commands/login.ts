/** `auspex login` and `auspex logout`. */
import { text as textOf } from "node:stream/consumers";
import { password, text } from "@clack/prompts";
import {
  credentialsFile,
  loadCredentials,
  readAddress,
  readToken,
  removeCredentials,
  saveCredentials,
} from "../access.ts";
import { Misuse } from "../failure.ts";
import { Service, usernameOf } from "../service/service.ts";
import { type Host, newCommand, openSession } from "../session.ts";
import { answered, isInteractive, prompt } from "../ui/output.ts";
import { logInWithBrowser } from "./browser-login.ts";

export const loginCommand = (host: Host) =>
  newCommand("login", "Log in to a deployment")
    .argument("[address]", "deployment address, such as https://auspex.example.com")
    .option("--token", "enter an access token instead of logging in with the browser")
    .option("--no-browser", "print the address to open, on this or another machine")
    .addHelpText("after", "\nIn scripts: auspex login https://auspex.example.com < token.txt")
    .action(async (address, options) => {
      const session = openSession(host, options);
      const url = await askAddress(host, address);
      const token =
        isInteractive() && !options.token
          ? await logInWithBrowser(url, session, options.browser)
          : await askToken(url, host);
      const username = await usernameOf(new Service({ url, token }, session));
      const kept = await loadCredentials(host.folders);
      const isSame = kept?.url === url && kept.username === username;
      const organizations = isSame ? kept.organizations : undefined;
      await saveCredentials(host.folders, { url, token, username, organizations });
      const file = credentialsFile(host.folders);
      session.output.result(`Logged in to ${url} as ${username}.`, { url, username, file });
    });

export const logoutCommand = (host: Host) =>
  newCommand("logout", "Log out and delete the saved token").action(async (options) => {
    const { output } = openSession(host, options);
    const wasThere = await removeCredentials(host.folders);
    output.result(wasThere ? LOGGED_OUT : "Not logged in.", {});
  });

const LOGGED_OUT = "Logged out. Its tokens stay valid until you revoke them.";

async function askAddress(host: Host, given: string | undefined): Promise<string> {
  if (given !== undefined) return readAddress(given, "address");
  const known = host.environment.AUSPEX_URL || (await loadCredentials(host.folders))?.url;
  if (!isInteractive()) {
    if (known) return readAddress(known, "AUSPEX_URL");
    throw new Misuse("Missing address. Run auspex login https://auspex.example.com");
  }
  const answer = await text({
    ...prompt,
    message: "Deployment address",
    placeholder: "https://auspex.example.com",
    ...(known && { initialValue: known }),
    validate: (typed) => faultOf(() => readAddress(typed ?? "", "Address")),
  });
  return readAddress(answered(answer), "address");
}

/** Reads the token from the keyboard or from a pipe. Other processes can read arguments. */
async function askToken(url: string, { stdin }: Host): Promise<string> {
  if (!isInteractive()) {
    const piped = stdin.isTTY ? "" : await textOf(stdin);
    if (piped.trim() !== "") return readToken(piped, "token");
    throw new Misuse(
      `Missing token. Without a terminal, create one at ${url}/tokens, and pipe it in: auspex login ${url} < token.txt`,
    );
  }
  const answer = await password({
    ...prompt,
    message: `Token (create one at ${url}/tokens)`,
    validate: (typed) => faultOf(() => readToken(typed ?? "", "Token")),
  });
  return readToken(answered(answer), "token");
}

function faultOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return error instanceof Misuse ? error.message : String(error);
  }
}
