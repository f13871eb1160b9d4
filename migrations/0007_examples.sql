CREATE TABLE `examples` (
	`id` text PRIMARY KEY NOT NULL,
	`model_id` text NOT NULL,
	`position` integer NOT NULL,
	`prediction_id` text NOT NULL,
	`version_number` integer NOT NULL,
	`input` text NOT NULL,
	`output` text NOT NULL,
	`execution_seconds` real,
	`created_at` integer NOT NULL,
	`removes_at` integer
);
--> statement-breakpoint
CREATE INDEX `examples_model` ON `examples` (`model_id`,`position`) WHERE removes_at IS NULL;--> statement-breakpoint
CREATE UNIQUE INDEX `examples_prediction` ON `examples` (`model_id`,`prediction_id`) WHERE removes_at IS NULL;--> statement-breakpoint
CREATE INDEX `examples_removes` ON `examples` (`removes_at`) WHERE removes_at IS NOT NULL;--> statement-breakpoint
ALTER TABLE `models` ADD `makes` text;--> statement-breakpoint
ALTER TABLE `models` ADD `cover_key` text;--> statement-breakpoint
-- What a model makes is a list like a category. At an insert, which a restore makes, nothing is counted yet.
CREATE TRIGGER models_made AFTER INSERT ON models WHEN NEW.makes IS NOT NULL AND NEW.visibility <> 'private' BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT value, 'makes:' || NEW.makes, NEW.id, 0 FROM json_each(json_array('', NEW.owner_id));
END;
--> statement-breakpoint
CREATE TRIGGER models_made_other AFTER UPDATE OF makes ON models WHEN OLD.makes IS NOT NEW.makes AND NEW.visibility <> 'private' BEGIN
	DELETE FROM listings WHERE model_id = NEW.id AND category_slug = 'makes:' || OLD.makes;
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, 'makes:' || NEW.makes, NEW.id, listed_count FROM model_counts
		JOIN json_each(json_array('', NEW.owner_id)) AS owners
		WHERE model_id = NEW.id AND NEW.makes IS NOT NULL;
END;
--> statement-breakpoint
CREATE TRIGGER models_made_shown AFTER UPDATE OF visibility ON models WHEN OLD.visibility = 'private' AND NEW.visibility <> 'private' AND NEW.makes IS NOT NULL BEGIN
	INSERT INTO listings (owner_id, category_slug, model_id, predictions_count)
		SELECT owners.value, 'makes:' || NEW.makes, NEW.id, listed_count FROM model_counts
		JOIN json_each(json_array('', NEW.owner_id)) AS owners
		WHERE model_id = NEW.id;
END;
--> statement-breakpoint
-- Of models that are there, as far as SQL can tell: their next version tells the rest.
UPDATE models SET makes = (
	SELECT CASE
		WHEN compatibilities ->> 'vendora_images_generations' OR compatibilities ->> 'vendora_images_edits' THEN 'pictures'
		WHEN compatibilities ->> 'vendora_audio_speech' THEN 'sound'
		WHEN compatibilities ->> 'vendora_chat_completions' OR compatibilities ->> 'vendora_responses' OR compatibilities ->> 'vendora_completions' OR compatibilities ->> 'vendora_audio_transcriptions' THEN 'text'
		WHEN compatibilities ->> 'vendora_embeddings' THEN 'embeddings'
		WHEN schemas ->> '$.prediction.output.type' = 'string' AND schemas ->> '$.prediction.output.format' IS NULL THEN 'text'
	END
	FROM versions WHERE versions.model_id = models.id AND versions.number = models.last_version);
--> statement-breakpoint
-- Examples are counted while they are shown, by what their input and output take.
CREATE TRIGGER examples_weighed AFTER INSERT ON examples WHEN NEW.removes_at IS NULL BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 512 + length(CAST(NEW.input AS BLOB)) + length(CAST(NEW.output AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER examples_weighed_again AFTER UPDATE OF removes_at ON examples WHEN OLD.removes_at IS NOT NULL AND NEW.removes_at IS NULL BEGIN
	INSERT INTO account_bytes (user_id, bytes) SELECT owner_id, 512 + length(CAST(NEW.input AS BLOB)) + length(CAST(NEW.output AS BLOB))
		FROM models WHERE id = NEW.model_id
		ON CONFLICT (user_id) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
--> statement-breakpoint
CREATE TRIGGER examples_unweighed AFTER UPDATE OF removes_at ON examples WHEN OLD.removes_at IS NULL AND NEW.removes_at IS NOT NULL BEGIN
	UPDATE account_bytes SET bytes = bytes - (512 + length(CAST(OLD.input AS BLOB)) + length(CAST(OLD.output AS BLOB)))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = OLD.model_id);
END;
--> statement-breakpoint
-- The sweep removes their files, and then the row.
CREATE TRIGGER models_examples BEFORE DELETE ON models BEGIN
	UPDATE examples SET removes_at = 0, input = '{}', output = 'null' WHERE model_id = OLD.id AND removes_at IS NULL;
END;
