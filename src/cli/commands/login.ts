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
import { Interrupted, Misuse } from "../failure.ts";
import { Service, usernameOf } from "../service/service.ts";
import { type Host, newCommand, openSession } from "../session.ts";
import { isInteractive } from "../ui/output.ts";

export const loginCommand = (host: Host) =>
  newCommand("login", "Keep the address of a deployment and a token for it")
    .argument("[address]", "the deployment, such as https://auspex.example.com")
    .addHelpText("after", "\nIn scripts: auspex login https://auspex.example.com < token.txt")
    .action(async (address, options) => {
      const session = openSession(host, options);
      const url = await askAddress(host, address);
      const token = await askToken(url);
      const username = await usernameOf(new Service({ url, token }, session));
      await saveCredentials(host.folders, { url, token, username });
      const file = credentialsFile(host.folders);
      session.output.result(`Logged in to ${url} as ${username}.`, { url, username, file });
    });

export const logoutCommand = (host: Host) =>
  newCommand("logout", "Forget the token that login keeps").action(async (options) => {
    const { output } = openSession(host, options);
    const wasThere = await removeCredentials(host.folders);
    output.result(wasThere ? LOGGED_OUT : "Nobody was logged in.", {});
  });

const LOGGED_OUT = "Logged out. The token is valid until you revoke it.";

/** Questions are on standard error: the output has the result only. */
const prompt = { output: process.stderr };

async function askAddress(host: Host, given: string | undefined): Promise<string> {
  if (given !== undefined) return readAddress(given, "address");
  const known = host.environment.AUSPEX_URL || (await loadCredentials(host.folders))?.url;
  if (!isInteractive()) {
    if (known) return readAddress(known, "AUSPEX_URL");
    throw new Misuse("Name the deployment: auspex login https://auspex.example.com");
  }
  const answer = await text({
    ...prompt,
    message: "Address of the deployment",
    placeholder: "https://auspex.example.com",
    ...(known && { initialValue: known }),
    validate: (typed) => faultOf(() => readAddress(typed ?? "", "It")),
  });
  return readAddress(answered(answer), "address");
}

/** Reads the token from the keyboard or from a pipe. Other processes can read arguments. */
async function askToken(url: string): Promise<string> {
  if (!isInteractive()) {
    const piped = process.stdin.isTTY ? "" : await textOf(process.stdin);
    if (piped.trim() !== "") return readToken(piped, "token");
    throw new Misuse(`Pipe the token in: auspex login ${url} < token.txt`);
  }
  const answer = await password({
    ...prompt,
    message: `Token (create one at ${url}/tokens)`,
    validate: (typed) => faultOf(() => readToken(typed ?? "", "It")),
  });
  return readToken(answered(answer), "token");
}

function answered(answer: string | symbol): string {
  if (typeof answer === "string") return answer;
  throw new Interrupted("SIGINT");
}

function faultOf(read: () => unknown): string | undefined {
  try {
    read();
    return undefined;
  } catch (error) {
    return error instanceof Misuse ? error.message : String(error);
  }
}
