/** `auspex upload`: a file, for use in inputs. */
import { integerOption } from "../options.ts";
import { readLocalFile } from "../upload/local-file.ts";
import { uploadFile } from "../upload/upload-file.ts";
import { type Host, newServiceCommand, openService } from "./session.ts";

export const uploadCommand = (host: Host) =>
  newServiceCommand("upload", "Upload a file, and print its URL for use in inputs")
    .argument("<file>")
    .option("--mime-type <type>", "media type (default: by the file's extension)")
    .option("--name <name>", "file name for downloads (default: the file's name)")
    .option("--parallel <count>", "parts sent in parallel", integerOption(1, 64), 4)
    .addHelpText("after", "\nRun the same command again to resume an interrupted upload.")
    .action(async (path, options) => {
      const session = await openService(host, options);
      const file = await readLocalFile(path, options);
      const url = await uploadFile(session, file, options.parallel);
      session.output.result(url, { url, size: file.size, mime_type: file.mimeType });
    });
