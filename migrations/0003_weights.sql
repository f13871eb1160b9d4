CREATE TABLE `version_files` (
	`upload_id` text NOT NULL,
	`model_id` text NOT NULL,
	`version_number` integer NOT NULL,
	PRIMARY KEY(`upload_id`, `model_id`, `version_number`),
	FOREIGN KEY (`upload_id`) REFERENCES `uploads`(`id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`model_id`,`version_number`) REFERENCES `versions`(`model_id`,`number`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `version_files_version` ON `version_files` (`model_id`,`version_number`);--> statement-breakpoint
ALTER TABLE `versions` ADD `weights` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
ALTER TABLE `versions` ADD `weight_files` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
-- An upload may be missing where a backup is restored: its version stays.
CREATE TRIGGER versions_named AFTER INSERT ON versions WHEN NEW.weight_files <> '[]' BEGIN
	INSERT OR IGNORE INTO version_files (upload_id, model_id, version_number)
		SELECT uploads.id, NEW.model_id, NEW.number FROM json_each(NEW.weight_files) AS named
		JOIN uploads ON uploads.id = named.value ->> 'id';
END;
--> statement-breakpoint
-- Beside versions_weighed and versions_unweighed.
CREATE TRIGGER versions_weights_weighed AFTER INSERT ON versions WHEN NEW.weights <> '[]' OR NEW.weight_files <> '[]' BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, length(CAST(NEW.weights AS BLOB)) + length(CAST(NEW.weight_files AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER versions_weights_unweighed AFTER DELETE ON versions WHEN OLD.weights <> '[]' OR OLD.weight_files <> '[]' BEGIN
	UPDATE account_bytes SET bytes = bytes - (length(CAST(OLD.weights AS BLOB)) + length(CAST(OLD.weight_files AS BLOB)))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
