ALTER TABLE `versions` ADD `compressed_size` integer;--> statement-breakpoint
ALTER TABLE `versions` ADD `platform` text;--> statement-breakpoint
ALTER TABLE `versions` ADD `awaits` text;--> statement-breakpoint
ALTER TABLE `versions` ADD `own_configuration` text;--> statement-breakpoint
-- A version that its first start completes weighs what it then has.
CREATE TRIGGER versions_weighed_again AFTER UPDATE OF schemas ON versions BEGIN
	UPDATE account_bytes SET bytes = bytes + length(CAST(NEW.schemas AS BLOB)) - length(CAST(OLD.schemas AS BLOB))
		WHERE user_id = (SELECT owner_id FROM models WHERE id = NEW.model_id);
END;
