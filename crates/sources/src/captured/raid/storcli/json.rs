//! The JSON of `storcli`, one object for each controller.

use super::{
    Controller, controller_of_path, member_of, place_of_drive, vd_of_heading, vd_of_properties,
};
use crate::captured::json::{Json, Object};
use crate::captured::records::{Record, from_json};
use crate::captured::tool::{Context, Notes};

pub(super) fn read(json: &Json<'_>, _: &Context<'_>, notes: &mut Notes<'_>) {
    let Some(controllers) = json
        .object()
        .and_then(|object| Some(object.get("Controllers")?.items()))
    else {
        return;
    };
    for object in controllers.iter().filter_map(Json::object) {
        let status = object.get("Command Status").and_then(|s| s.object());
        let number = status.and_then(|status| status.number("Controller"));
        let Some(response) = object.get("Response Data").and_then(|data| data.object()) else {
            continue;
        };
        let of_path = response
            .members()
            .find_map(|(key, _)| controller_of_path(key));
        let mut controller = Controller::new(number.or(of_path).unwrap_or(0));
        response_data(&response, &mut controller, notes);
        controller.finish(notes);
    }
}

fn response_data<'t>(response: &Object<'t>, controller: &mut Controller<'t>, notes: &Notes<'_>) {
    for (key, value) in response.members() {
        if let Some(vd) = vd_of_properties(key) {
            for record in from_json(&value) {
                for field in &record.fields {
                    controller.vd_property(vd, field, notes);
                }
            }
        } else if let Some(place) = place_of_drive(key) {
            rows(&value, None, controller, notes);
            // `Drive /c0/e252/s0 - Detailed Information` holds objects of properties.
            let parts = value.object();
            for (_, part) in parts.iter().flat_map(Object::members) {
                for record in from_json(&part) {
                    for field in &record.fields {
                        controller.pd_property(place, field, notes);
                    }
                }
            }
        } else {
            rows(&value, vd_of_heading(key), controller, notes);
            // `storcli /cx/vx show all J` of some versions puts the properties below the volume.
            if let Some(inner) = value.object()
                && inner.has("VD LIST")
            {
                response_data(&inner, controller, notes);
            }
        }
    }
}

fn rows<'t>(
    value: &Json<'t>,
    members_of: Option<u64>,
    controller: &mut Controller<'t>,
    notes: &Notes<'_>,
) {
    for row in from_json(value) {
        let row: Record<'t> = row;
        controller.vd_row(&row, notes);
        controller.pd_row(&row, notes);
        member_of(controller, members_of, &row);
    }
}
